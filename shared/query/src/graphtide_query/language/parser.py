"""Parse text into patterns: run the grammar under bounds.

The parser is created at first use, from tables cached in a file (`tables`). Parsing is LALR(1): linear in the text, without
recursion, so no input overflows the stack. The bounds below keep its memory in proportion to the text. A word or sign takes
some 10 microseconds while callers wait, so one pattern has its own bound.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError, Location
from lark.exceptions import UnexpectedInput

from graphtide_query.language.builder import Builder
from graphtide_query.language.diagnostics import explain
from graphtide_query.language.event_binder import nested_too_deep
from graphtide_query.language.expressions import too_deep
from graphtide_query.language.tables import parser_of
from graphtide_query.language.tokens import locate

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern
    from lark import Lark, Token

    from graphtide_query.language.dialect import Dialect

MAX_BYTES = 64 * 2**20
"""The largest text, in bytes of UTF-8: some 200,000 patterns."""

MAX_TOKENS = 80_000
"""The most words and signs of one pattern: a condition of 13,000 comparisons, or a list of 40,000 constants; some 0.8 s."""

_AT_FIRST = 2
"""Symbols open after the first word of a pattern: that word, and the patterns before."""

_WITH_EXPRESSIONS = frozenset({"WHERE", "REPORT", "RETURN"})

_STATEMENTS = frozenset({"_STREAM", "_TABLE"})

MAX_OPEN = 4_000
"""The most symbols that the parser holds open: an expression needs fewer than 20 a level, so more means too deep nesting."""


def parse_text(text: str, dialects: tuple[Dialect, ...] = ()) -> tuple[AnyPattern, ...]:
    """Return the patterns of a text in these dialects.

    Raises:
        InvalidPatternError: the text breaks the grammar, a rule of the language or a bound; with its place, but without that
        line of the text.
    Complexity: O(len(text)).
    """
    _refuse_unreadable(text)
    session = _grammar(dialects).parse_interactive(text)
    last: Token | None = None
    open_symbols = session.parser_state.value_stack
    tokens, in_parts, is_statement = 0, False, False
    try:
        for token in session.iter_parse():
            last = token
            tokens += 1
            if len(open_symbols) == _AT_FIRST:
                tokens, is_statement = 1, getattr(open_symbols[-1], "type", "") in _STATEMENTS
            # Brackets after the first SEQ, AND or OR open a part, until a clause with expressions begins.
            in_parts = not is_statement and (tokens == 2 or (in_parts and token.type not in _WITH_EXPRESSIONS))
            if tokens > MAX_TOKENS:
                raise _too_long(locate(token), "statement" if is_statement else "pattern")
            if len(open_symbols) > MAX_OPEN:
                raise (nested_too_deep if in_parts else too_deep)(locate(token))
        # The builder's rule for `start` returns the patterns; lark cannot say so in types.
        parsed: tuple[AnyPattern, ...] = session.feed_eof(last)  # type: ignore[no-untyped-call]  # lark has no types for it
    except UnexpectedInput as error:
        accepted: set[str] = session.accepts()  # type: ignore[no-untyped-call]  # lark has no types for it
        keywords = tuple(word for each in dialects for word in each.keywords)
        raise explain(error, accepted, last, text, keywords) from None
    return parsed


@cache
def _grammar(dialects: tuple[Dialect, ...]) -> Lark:
    # The rules of dialects come first in the order of look-up, so a rule of theirs would replace a rule of the grammar with the
    # same name.
    builder: type[Builder] = type("Builder", (*(each.rules for each in dialects), Builder), {}) if dialects else Builder
    return parser_of(builder(), extensions=[each.grammar for each in dialects])


def _too_long(location: Location, what: str) -> InvalidPatternError:
    message = f"the {what} has more than {MAX_TOKENS:,} words and signs"
    hint = f"split it into several {what}s, or compute what it compares before it reaches the stream"
    return InvalidPatternError(message, location, hint=hint)


def _refuse_unreadable(text: str) -> None:
    """Reject a text that is too large or that UTF-8 cannot encode."""
    try:
        encoded = text.encode()
    except UnicodeEncodeError as error:
        message = f"the text holds half a surrogate pair, {text[error.start]!r}"
        raise InvalidPatternError(message, _place(text, error.start), hint="the text must be valid Unicode") from None
    if len(encoded) > MAX_BYTES:
        message = f"the text has {len(encoded):,} bytes, more than the {MAX_BYTES:,} allowed"
        past = len(encoded[:MAX_BYTES].decode(errors="ignore"))
        raise InvalidPatternError(message, _place(text, past), hint="split it into several files")


def _place(text: str, offset: int) -> Location:
    return Location(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
