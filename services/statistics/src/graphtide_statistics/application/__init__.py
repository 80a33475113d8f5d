"""The counter at work on the log."""
