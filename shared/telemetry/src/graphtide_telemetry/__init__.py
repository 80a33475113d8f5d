"""Traces, figures and logs of every service; all their names stand in `attributes`, `spans`, `metrics` and `events`."""
