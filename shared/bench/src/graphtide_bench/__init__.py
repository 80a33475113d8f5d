"""Benchmarks of the engines on seeded workloads, with checks of their matches. How to read them: `docs/benchmarks/method.md`."""
