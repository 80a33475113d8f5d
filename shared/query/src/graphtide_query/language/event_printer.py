"""Print event patterns as text: the canonical form.

Parsing the printed text gives an equal pattern, for every pattern that parsing can produce.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.event_expression import Not, QueryEvent
from graphtide_core.event_pattern import Selection
from graphtide_core.pattern import Report

from graphtide_query.language.annotations import write_annotations
from graphtide_query.language.expression_printer import write_conditions
from graphtide_query.language.reporting import write_report
from graphtide_query.language.returning import write_returns
from graphtide_query.language.spelling import write_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.event_expression import Part, Repeat
    from graphtide_core.event_pattern import EventPattern


def print_event_pattern(pattern: EventPattern) -> str:
    """Return the text of a pattern, without its version, which the language does not state.

    Raises:
        InvalidPatternError: a predicate holds an infinity or NaN.
    Complexity: linear in events and predicates.
    """
    return "\n".join([f"PATTERN {write_name(pattern.name)}", _write_part(pattern.root), *_write_clauses(pattern)]) + "\n"


def _write_clauses(pattern: EventPattern) -> Iterator[str]:
    if pattern.predicates:
        yield f"WHERE {write_conditions(pattern.predicates)}"
    if pattern.partition:
        yield f"PARTITION BY {', '.join(map(write_name, pattern.partition))}"
    if pattern.selection is not Selection.ANY:
        yield f"SKIP TILL {pattern.selection.value.upper()}"
    if report := write_report(pattern, usual=Report.ALL):
        yield f"REPORT {report}"
    if pattern.returns is not None:
        yield f"RETURN {write_returns(pattern.returns)}"
    yield f"ON {write_name(pattern.stream)} WITHIN {pattern.within}" + (" ON TIMEOUT" if pattern.emits_timeouts else "")
    yield from write_annotations(pattern.annotations)


def _write_part(part: Part) -> str:
    if isinstance(part, QueryEvent):
        return _write_event(part)
    if isinstance(part, Not):
        events = ", ".join(map(_write_event, part.events))
        return f"NOT {events}" if len(part.events) == 1 else f"NOT OR({events})"
    return f"{part.word}({', '.join(map(_write_part, part.parts))})"


def _write_event(event: QueryEvent) -> str:
    kind = "" if event.type is None else f":{write_name(event.type)}"
    return write_name(event.name) + kind + ("" if event.repeat is None else _write_repeat(event.repeat))


def _write_repeat(repeat: Repeat) -> str:
    match repeat.least, repeat.most:
        case 1, None:
            return "+"
        case least, None:
            return f"{{{least},}}"
        case least, most if least == most:
            return f"{{{least}}}"
        case least, most:  # pragma: no branch - mypy knows that no case is left
            return f"{{{least},{most}}}"
