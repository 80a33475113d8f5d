"""Patterns over history: time slices matched by the native engines on Spark."""
