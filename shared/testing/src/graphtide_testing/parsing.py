"""Patterns of texts, of the families that a test is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.event_pattern import EventPattern
from graphtide_core.pattern import SubgraphPattern
from graphtide_query import parse

if TYPE_CHECKING:
    from graphtide_core.any_pattern import MatchedPattern


def parse_matched(text: str) -> tuple[MatchedPattern, ...]:
    """Return the patterns of a text that has no graph query."""
    patterns = parse(text)
    found = tuple(each for each in patterns if isinstance(each, SubgraphPattern | EventPattern))
    assert len(found) == len(patterns), "the text has a graph query"
    return found
