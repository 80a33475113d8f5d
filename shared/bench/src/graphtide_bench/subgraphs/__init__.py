"""Benchmarks of subgraph patterns: one at a time, many in one pass, memory, threads, and a search from scratch."""
