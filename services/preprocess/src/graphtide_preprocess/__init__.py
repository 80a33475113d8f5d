"""Streams in their total order by Spark, with their statistics; and windows of a DataFrame of edges."""
