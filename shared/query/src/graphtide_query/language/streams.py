"""Parse texts with STREAM and TABLE statements: the grammar of patterns, extended by that of statements.

Patterns alone are read without it, so that they cost nothing more, and every text of patterns reads as it always did.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.stream_definition import StreamDefinition

from graphtide_query.language.dialect import Dialect
from graphtide_query.language.parser import parse_text
from graphtide_query.language.stream_builder import StreamRules

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern


@cache
def _dialect() -> Dialect:
    grammar = resources.files(__package__).joinpath("streams.lark").read_text("utf-8")
    return Dialect(grammar, StreamRules, ("_STREAM", "_TABLE"))


def parse_statements(text: str, dialects: tuple[Dialect, ...]) -> tuple[tuple[StreamDefinition, ...], tuple[AnyPattern, ...]]:
    """Return the definitions and the patterns of a text in these dialects, each in the order of the text.

    Raises:
        InvalidPatternError: the text is not valid; with its place and line.
    """
    try:
        parsed: tuple[object, ...] = parse_text(text, (*dialects, _dialect()))
    except InvalidPatternError as error:
        raise error.in_text(text) from None
    streams = tuple(each for each in parsed if isinstance(each, StreamDefinition))
    patterns = tuple(each for each in parsed if not isinstance(each, StreamDefinition))
    return streams, patterns  # type: ignore[return-value]  # whatever else a dialect parses is a pattern
