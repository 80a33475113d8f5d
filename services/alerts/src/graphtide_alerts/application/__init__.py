"""Deliver the matches of the log."""
