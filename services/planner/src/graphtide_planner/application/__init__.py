"""The planner at work on the log."""
