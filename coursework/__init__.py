"""Assignments from one solved source: release, check, grade, explain, export."""
