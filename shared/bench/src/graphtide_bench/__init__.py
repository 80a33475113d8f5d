"""Benchmarks: seeded workloads, what is measured over them, and reports of it. How to read them: `docs/benchmarks.md`."""
