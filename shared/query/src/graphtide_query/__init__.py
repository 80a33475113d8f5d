"""The pattern language, its logical patterns and the searches that plan them."""

from graphtide_query.language import parse, parse_subgraphs, print_pattern

__all__ = ["parse", "parse_subgraphs", "print_pattern"]
