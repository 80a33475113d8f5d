"""The per-edge work: a typed facade over the native extension."""
