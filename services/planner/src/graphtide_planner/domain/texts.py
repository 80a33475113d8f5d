"""The pattern that a text holds, parsed once: whoever decides on a pattern asks for it again and again."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_query import parse

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern

_MOST_TEXTS: Final = 65_536
"""Texts that are kept parsed. With more patterns than that, each decision parses: 1.5 ms for a text of three edges."""


@lru_cache(maxsize=_MOST_TEXTS)
def pattern_in(text: str) -> AnyPattern:
    """Return the one pattern of a text.

    Raises:
        InvalidQueryError: it is wrong, or does not hold one.
    """
    patterns = parse(text)
    if len(patterns) != 1:
        message = f"a registration holds one pattern, this text holds {len(patterns)}"
        raise InvalidPatternError(message)
    return patterns[0]
