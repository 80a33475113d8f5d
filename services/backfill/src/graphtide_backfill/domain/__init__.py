"""Slices, without their execution: cutting, matching, duplicates, sizes."""
