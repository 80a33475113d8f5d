"""The pattern language, its logical patterns and the searches that plan them."""

from graphtide_query.language import (
    parse,
    parse_streams,
    parse_streams_and_patterns,
    parse_subgraphs,
    print_pattern,
    print_stream,
)

__all__ = ["parse", "parse_streams", "parse_streams_and_patterns", "parse_subgraphs", "print_pattern", "print_stream"]
