"""Streams in their total order by Spark, with their statistics; and windows of a DataFrame of edges."""

from graphtide_preprocess.adapters.windows import EdgeWindows, windows

__all__ = ["EdgeWindows", "windows"]
