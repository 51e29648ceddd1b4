"""Attention in NumPy, one idea a module: the package behind the course notes."""
