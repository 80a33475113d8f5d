"""The control plane at work on the log."""
