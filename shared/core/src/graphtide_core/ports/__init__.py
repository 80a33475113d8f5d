"""Ports to the outside world: one small Protocol a file."""
