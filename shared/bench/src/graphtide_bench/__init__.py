"""Benchmarks of the engines on seeded workloads, with checks of their matches; see `docs/benchmarks/method.md`."""
