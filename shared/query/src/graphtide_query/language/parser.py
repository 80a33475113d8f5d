"""Text to patterns: the grammar, run under bounds.

The grammar is compiled at the first use, some 0.1 s, and kept. Parsing is LALR(1): linear in the text, without recursion, so
that no input overflows the stack; the bounds below keep its memory in proportion to the text as well.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError, Location
from lark import Lark, Token
from lark.exceptions import UnexpectedInput

from graphtide_query.language.builder import Builder, locate
from graphtide_query.language.diagnostics import explain
from graphtide_query.language.expressions import too_deep

if TYPE_CHECKING:
    from graphtide_core.pattern import SubgraphPattern

MAX_BYTES = 64 * 2**20
"""Size of a text, in UTF-8: some 200,000 patterns."""

MAX_OPEN = 4_000
"""Symbols the parser holds open: an expression needs fewer than 20 a level, so whoever needs more is nested too deeply."""


def parse_text(text: str) -> tuple[SubgraphPattern, ...]:
    """Return the patterns of a text.

    Raises:
        InvalidPatternError: the text breaks the grammar, a rule of the language or a bound; with its place, but without the
            line of the text there.
    Complexity: O(len(text)).
    """
    _refuse_unreadable(text)
    session = _grammar().parse_interactive(text)
    last: Token | None = None
    open_symbols = session.parser_state.value_stack
    try:
        for token in session.iter_parse():
            last = token
            if len(open_symbols) > MAX_OPEN:
                raise too_deep(locate(token))
        # The builder's rule for `start` returns the patterns; lark cannot say so in types.
        patterns: tuple[SubgraphPattern, ...] = session.feed_eof(last)  # type: ignore[no-untyped-call]  # lark has no types for it
    except UnexpectedInput as error:
        accepted: set[str] = session.accepts()  # type: ignore[no-untyped-call]  # lark has no types for it
        raise explain(error, accepted, last, text) from None
    return patterns


@cache
def _grammar() -> Lark:
    grammar = resources.files(__package__).joinpath("grammar.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", transformer=Builder(), maybe_placeholders=True)


def _refuse_unreadable(text: str) -> None:
    """Raise for a text that is too large or that UTF-8 cannot carry."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        column = error.start - text.rfind("\n", 0, error.start)
        message = f"the text holds half a surrogate pair, {text[error.start]!r}"
        raise InvalidPatternError(message, Location(line, column), hint="the text must be valid Unicode") from None
    if size > MAX_BYTES:
        message = f"the text has {size:,} bytes, more than the {MAX_BYTES:,} allowed"
        raise InvalidPatternError(message, hint="split it into several files")
