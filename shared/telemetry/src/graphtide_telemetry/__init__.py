"""Traces, metrics and logs of every service; all their names are in `attributes`, `spans`, `metrics` and `events`."""
