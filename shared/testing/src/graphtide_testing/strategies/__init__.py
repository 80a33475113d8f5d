"""Generated streams and patterns: Hypothesis strategies, and seeded random ones for long loops."""

from graphtide_testing.strategies.event_patterns import EventPatternShape, event_patterns, random_event_pattern
from graphtide_testing.strategies.event_streams import EventStreamShape, event_streams, random_event_stream
from graphtide_testing.strategies.graph_queries import GraphQueryShape, graph_queries, random_graph_query
from graphtide_testing.strategies.patterns import PatternShape, patterns, random_pattern
from graphtide_testing.strategies.streams import StreamShape, edge_streams, random_stream

__all__ = [
    "EventPatternShape",
    "EventStreamShape",
    "GraphQueryShape",
    "PatternShape",
    "StreamShape",
    "edge_streams",
    "event_patterns",
    "event_streams",
    "graph_queries",
    "patterns",
    "random_event_pattern",
    "random_event_stream",
    "random_graph_query",
    "random_pattern",
    "random_stream",
]
