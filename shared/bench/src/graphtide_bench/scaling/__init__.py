"""Simulations of ways to divide a stream over shards."""
