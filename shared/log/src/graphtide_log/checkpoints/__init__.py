"""Stores of checkpoints: in memory, and in Redis."""
