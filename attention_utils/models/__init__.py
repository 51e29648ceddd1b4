"""Whole models made of the package's own attention: what Part II of the notes looks into."""
