"""Spark, files, the log."""
