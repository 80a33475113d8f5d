"""Benchmarks of event patterns: plans of many patterns, and detection."""
