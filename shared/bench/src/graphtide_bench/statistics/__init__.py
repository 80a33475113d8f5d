"""Benchmarks of the statistics of streams."""
