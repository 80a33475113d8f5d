"""Stores of views of partial matches: in memory, and in Redis."""
