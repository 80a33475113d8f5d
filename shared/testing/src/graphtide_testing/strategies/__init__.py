"""Generated streams and patterns: Hypothesis strategies, and seeded random ones for long loops."""

from graphtide_testing.strategies.patterns import PatternShape, patterns, random_pattern
from graphtide_testing.strategies.streams import StreamShape, edge_streams, random_stream

__all__ = ["PatternShape", "StreamShape", "edge_streams", "patterns", "random_pattern", "random_stream"]
