"""Benchmarks the engines on seeded workloads, checks their matches, and reports. How to read it: `docs/benchmarks/method.md`."""
