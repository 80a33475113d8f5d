"""Bind nodes to event patterns: resolve every name and check every rule of the language at its place.

The core checks the rules of the family itself: its events and attributes have their places.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.event_expression import MAX_NESTING, Not, Or, QueryEvent, Repeat, positive_events
from graphtide_core.event_expression import events as events_of
from graphtide_core.event_pattern import EventPattern
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.pattern import Report
from graphtide_core.predicate import conjuncts

from graphtide_query.language import ast, event_ast
from graphtide_query.language.annotations import MessageNames, annotate
from graphtide_query.language.clauses import bind_time, find_clause, place_errors, require_clause, require_text
from graphtide_query.language.event_names import EventNames
from graphtide_query.language.expressions import bind_expression
from graphtide_query.language.graph import bind_properties
from graphtide_query.language.reporting import bind_one_per
from graphtide_query.language.returning import bind_returns
from graphtide_query.language.spelling import MAX_INTEGER, beyond_64_bits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.errors import Location
    from graphtide_core.event_expression import Group, Part
    from graphtide_core.predicate import Expression


def bind_event_pattern(pattern: event_ast.EventPatternNode) -> EventPattern:
    """Return the pattern that the nodes describe.

    Raises:
        InvalidPatternError: as `EventPattern`, and for clauses that are missing or stated twice and values out of range; with
            its place.
    Complexity: linear in the nodes, except that each predicate over several events visits every OR.
    """
    require_text(pattern.name)
    clauses = pattern.clauses
    where = find_clause(clauses, ast.Where, "WHERE", "join the conditions by AND")
    stream = find_clause(clauses, ast.On, "ON", "a pattern reads one stream")
    stream = require_clause(stream, pattern.name, "ON", "name the stream it reads: ON logins")
    within = find_clause(clauses, event_ast.Within, "WITHIN")
    within = require_clause(within, pattern.name, "WITHIN", "say how long a match may last: WITHIN 10m")
    require_text(stream.stream)
    expression = _Expression(pattern.root)
    root = expression.bind_group(pattern.root)
    names = EventNames(event.name for event in events_of(root))
    conditions = () if where is None else conjuncts(bind_expression(where.condition, names))
    bound = EventPattern(
        name=PatternName(pattern.name.text),
        root=root,
        within=bind_time(within.time.amount, within.time.unit, "the time of WITHIN"),
        stream=StreamName(stream.stream.text),
        predicates=(*expression.predicates, *conditions),
    )
    return _with_options(bound, clauses, names)


def _with_options(pattern: EventPattern, clauses: tuple[event_ast.Clause, ...], names: EventNames) -> EventPattern:
    """Return the pattern with the options that its clauses state; an error has the place of its clause."""
    partition = find_clause(
        clauses, event_ast.Partition, "PARTITION BY", "separate attributes by commas: PARTITION BY user, host"
    )
    if partition is not None:
        for attribute in partition.attributes:
            require_text(attribute)
        with place_errors(partition.location):
            pattern = replace(pattern, partition=tuple(attribute.text for attribute in partition.attributes))
    skip = find_clause(clauses, event_ast.Skip, "SKIP")
    if skip is not None:
        with place_errors(skip.location):
            pattern = replace(pattern, selection=skip.selection)
    report = find_clause(clauses, ast.Reporting, "REPORT")
    if report is not None:
        one_per = bind_one_per(report, names)
        with place_errors(report.location):
            pattern = replace(pattern, report=report.report or Report.ALL, is_distinct=report.is_distinct, one_per=one_per)
    returning = find_clause(clauses, ast.Returning, "RETURN", "separate fields by commas: RETURN a.user, b.ts")
    if returning is not None:
        with place_errors(returning.location):
            pattern = replace(pattern, returns=bind_returns(returning, names))
    timeout = find_clause(clauses, event_ast.OnTimeout, "ON TIMEOUT")
    if timeout is not None:
        with place_errors(timeout.location):
            pattern = replace(pattern, emits_timeouts=True)
    events = frozenset(event.name for event in positive_events(pattern.root))
    return annotate(pattern, clauses, MessageNames(events, frozenset(each.name for each in pattern.fields), events))


class _Expression:
    """Binds the parts of a pattern; collects the predicates of their braces.

    Attributes:
        predicates: of braces, in the order of the text.
    """

    def __init__(self, root: event_ast.EventGroup) -> None:
        """Collect the stated names: generated names differ from them."""
        used = _collect_names(root)
        self._made = (name for number in count(1) if (name := f"e{number}") not in used)
        self.predicates: list[Expression] = []

    def bind_group(self, group: event_ast.EventGroup) -> Group:
        return group.kind(tuple(self._bind(part) for part in group.parts))

    def _bind(self, part: event_ast.Part) -> Part:
        match part:
            case event_ast.Event():
                return self._bind_event(part)
            case event_ast.EventGroup():
                return self.bind_group(part)
            case event_ast.Not(absent, location):  # pragma: no branch - mypy knows that no case is left
                return Not(tuple(self._bind_absent(absent, location)), location)

    def _bind_absent(self, part: event_ast.Part, place: Location) -> Iterator[QueryEvent]:
        if isinstance(part, event_ast.Event):
            yield self._bind_event(part)
        elif isinstance(part, event_ast.EventGroup) and part.kind is Or:
            for each in part.parts:
                yield from self._bind_absent(each, place)
        else:
            message = "NOT takes an event, or an OR of events"
            raise InvalidPatternError(message, part.location, hint="for example NOT c:C, or NOT OR(c:C, d:D)")

    def _bind_event(self, event: event_ast.Event) -> QueryEvent:
        for stated in (event.name, event.type):
            if stated is not None:
                require_text(stated)
        name = next(self._made) if event.name is None else event.name.text
        self.predicates += bind_properties(name, event.properties)
        kind = None if event.type is None else event.type.text
        return QueryEvent(name, kind, None if event.repeat is None else _bind_repeat(event.repeat), event.location)


def _collect_names(root: event_ast.EventGroup) -> frozenset[str]:
    """Return the names that the text states.

    Raises:
        InvalidPatternError: the parts are nested more than `MAX_NESTING` levels deep.
    """
    names: set[str] = set()
    level: list[event_ast.Part] = [root]
    for _ in range(MAX_NESTING + 1):
        names |= {part.name.text for part in level if isinstance(part, event_ast.Event) and part.name is not None}
        level = [inner for part in level for inner in _inner(part)]
        if not level:
            return frozenset(names)
    raise nested_too_deep(level[0].location)


def _inner(part: event_ast.Part) -> tuple[event_ast.Part, ...]:
    match part:
        case event_ast.Event():
            return ()
        case event_ast.EventGroup():
            return part.parts
        case event_ast.Not():  # pragma: no branch - mypy knows that no case is left
            return (part.part,)


def nested_too_deep(location: Location) -> InvalidPatternError:
    """Word the error of parts nested past `MAX_NESTING`."""
    message = f"the pattern is nested more than {MAX_NESTING} levels deep"
    return InvalidPatternError(message, location, hint="remove parentheses that hold a single part")


def _bind_repeat(repeat: event_ast.Repeat) -> Repeat:
    if max(repeat.least, repeat.most or 0) > MAX_INTEGER:
        raise beyond_64_bits(repeat.location)
    return Repeat(repeat.least, repeat.most)
