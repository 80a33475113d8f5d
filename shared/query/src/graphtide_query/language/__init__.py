"""The pattern language: parse text into patterns, and print patterns as text.

`parser` runs the grammar, which families may extend by a `dialect`. `builder` makes the nodes of `ast`, and `binder` turns
those into patterns of `graphtide_core`. Printers go the other way, and `diagnostics` words the errors. Modules named `event_…`
serve only event patterns. Those named `graph_…` serve only streaming graph queries, with `gcore_…` and `datalog_…` for their
two forms. Those named `stream…` and `record_…` serve only STREAM statements, which `streams` parses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.any_pattern import subgraphs_alone
from graphtide_core.errors import InvalidPatternError

from graphtide_query.language.parsed import ParsedTexts

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.stream_definition import StreamDefinition

    from graphtide_query.language.dialect import Dialect

__all__ = ["parse", "parse_streams", "parse_streams_and_patterns", "parse_subgraphs", "print_pattern", "print_stream"]

_PARSED: Final = ParsedTexts()


def parse(text: str) -> tuple[AnyPattern, ...]:
    """Return the patterns of a text, of any family, in its order.

    Unnamed edges and vertices get the names e1, e2, … and v1, v2, …, unnamed events e1, e2, …. The braces of an edge or event
    and the conjuncts of WHERE become `predicates`, in the order of the text.

    Raises:
        InvalidPatternError: the text is not valid; with line, column, the line itself, what was expected and a hint.
    Complexity: linear in the text; a few hundred kilobytes a second, or nothing if the text was parsed before.
    """
    # Callers that read no text do not load the grammar's library.
    from graphtide_query.language.parser import parse_text  # noqa: PLC0415

    dialects = _dialects()
    found = _PARSED.get(text, dialects)
    if found is not None:
        return found
    try:
        found = parse_text(text, dialects)
    except InvalidPatternError as error:
        raise error.in_text(text) from None
    _PARSED.put(text, dialects, found)
    return found


def parse_streams(text: str) -> tuple[StreamDefinition, ...]:
    """Return the definitions of the STREAM statements of a text, in its order; patterns among them are checked and left out.

    Raises:
        InvalidPatternError: as `parse`.
    """
    streams, _ = parse_streams_and_patterns(text)
    return streams


def parse_streams_and_patterns(text: str) -> tuple[tuple[StreamDefinition, ...], tuple[AnyPattern, ...]]:
    """Return the definitions and the patterns of a text, each in its order.

    Raises:
        InvalidPatternError: as `parse`.
    Complexity: as `parse`; nothing is cached.
    """
    from graphtide_query.language.streams import parse_statements  # noqa: PLC0415 - as above

    return parse_statements(text, _dialects())


def print_stream(stream: StreamDefinition) -> str:
    """Return the statement of a definition.

    Raises:
        InvalidPatternError: an expression holds an infinity or NaN.
    Complexity: linear in the definition.
    """
    from graphtide_query.language import stream_printer  # noqa: PLC0415 - as above

    return stream_printer.print_stream(stream)


def print_pattern(pattern: AnyPattern) -> str:
    """Return the text of a pattern, without its version, which the language does not state.

    Raises:
        InvalidPatternError: a predicate holds an infinity or NaN.
    Complexity: linear in vertices, edges, events and predicates; cubic in the edges that ORDER names.
    """
    from graphtide_query.families import family_of  # noqa: PLC0415 - as above

    return family_of(pattern).text(pattern)


def parse_subgraphs(text: str) -> tuple[SubgraphPattern, ...]:
    """Return the patterns of a text, as `parse`, for callers that work only on subgraphs.

    Raises:
        InvalidPatternError: as `parse`, or one is of another family; with its place.
    """
    patterns = parse(text)
    try:
        return subgraphs_alone(patterns)
    except InvalidPatternError as error:
        raise error.in_text(text) from None


def _dialects() -> tuple[Dialect, ...]:
    # Families print by the modules of this package.
    from graphtide_query.families import FAMILIES  # noqa: PLC0415

    return tuple(family.dialect for family in FAMILIES.values() if family.dialect is not None)
