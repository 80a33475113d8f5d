"""The pattern language, its logical patterns and the searches that plan them."""

from graphtide_query.language import parse, print_pattern

__all__ = ["parse", "print_pattern"]
