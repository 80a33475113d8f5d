"""The one pattern that a registered text holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_query import parse

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern


def pattern_in(text: str) -> AnyPattern:
    """Return the one pattern of a text; a process parses it once, so each decision may ask.

    Raises:
        InvalidQueryError: it is wrong, or does not hold one.
    """
    patterns = parse(text)
    if len(patterns) != 1:
        message = f"a registration holds one pattern, this text holds {len(patterns)}"
        raise InvalidPatternError(message)
    return patterns[0]
