"""Refuse event patterns that no engine can match, with the place of the fault if it is known.

Cost: linear in events and predicates, but for predicates over several events, which meet every OR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.event_expression import (
    MAX_EVENTS,
    MAX_NESTING,
    Group,
    Not,
    Or,
    QueryEvent,
    Seq,
    absences,
    choices,
    events,
)
from graphtide_core.one_per import refuse_empty
from graphtide_core.pattern import Report
from graphtide_core.predicate import Attribute, aggregates, attributes, plain_attributes, variables
from graphtide_core.returns import refuse_fields
from graphtide_core.suggestion import did_you_mean, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.errors import Location
    from graphtide_core.event_expression import Part
    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.predicate import Expression

OF_EVENTS: Final = (Report.ALL, Report.EXISTS)
"""What may be reported of an event pattern."""

_LISTED: Final = 10
"""Names that a hint lists."""


def refuse_unmatchable(pattern: EventPattern) -> None:
    """Check a pattern.

    Raises:
        InvalidPatternError: as `EventPattern`.
    """
    _refuse_nesting(pattern.root)
    _refuse_names(pattern)
    _refuse_groups(pattern.root, inside_or=False)
    for event in events(pattern.root):
        _refuse_repeat(event)
    if pattern.within.amount == 0:
        message = "WITHIN must be longer than 0"
        raise InvalidPatternError(message, hint="for example WITHIN 10m")
    names = _Names(pattern.root)
    for predicate in pattern.predicates:
        names.refuse_predicate(predicate)
    _refuse_options(pattern)
    _refuse_returns(pattern, names)
    _refuse_keys(pattern, names)


def _refuse_nesting(root: Group) -> None:
    level: list[Part] = [root]
    for _ in range(MAX_NESTING + 1):
        level = [part for group in level if isinstance(group, Group) for part in group.parts]
        if not level:
            return
    message = f"the pattern is nested more than {MAX_NESTING} levels deep"
    raise InvalidPatternError(message, _place(level[0]), hint="remove parentheses that hold a single part")


def _place(part: Part) -> Location | None:
    """Return the place of the first event of a part, at any depth."""
    while isinstance(part, Group):
        if not part.parts:
            return None
        part = part.parts[0]
    return part.location


def _refuse_names(pattern: EventPattern) -> None:
    seen: set[str] = set()
    for event in events(pattern.root):
        if event.name in seen:
            message = f"{show(event.name)} names two events of the pattern"
            raise InvalidPatternError(message, event.location, hint="write every event once, with its own name")
        seen.add(event.name)
        if len(seen) > MAX_EVENTS:
            message = f"a pattern may name at most {MAX_EVENTS} events"
            raise InvalidPatternError(message, event.location)
    if not seen:
        message = "an event pattern needs at least one event that must come"
        raise InvalidPatternError(message)


def _refuse_groups(group: Group, *, inside_or: bool) -> None:
    if not group.parts:
        message = "SEQ, AND and OR need at least one part"
        raise InvalidPatternError(message)
    chooses = inside_or or isinstance(group, Or)
    for part in group.parts:
        if isinstance(part, Not):
            _refuse_absent(part, inside_or=chooses)
        elif isinstance(part, Group):
            _refuse_groups(part, inside_or=chooses)
    if all(isinstance(part, Not) for part in group.parts):
        message = "a NOT needs another part beside it"
        hint = "name what comes before or after the event that must not come: SEQ(a:A, NOT b:B) ends WITHIN after a"
        raise InvalidPatternError(message, _place(group.parts[0]), hint=hint)


def _refuse_absent(part: Not, *, inside_or: bool) -> None:
    if not part.events:
        message = "a NOT names at least one event"
        raise InvalidPatternError(message, part.location)
    if inside_or:
        message = "a NOT cannot stand inside OR"
        hint = "write a pattern for each branch, or put the NOT beside the OR, where it holds for all branches"
        raise InvalidPatternError(message, part.location, hint=hint)
    for event in part.events:
        if event.repeat is not None:
            message = f"{show(event.name)} must not come, so it cannot be repeated"
            raise InvalidPatternError(message, event.location, hint="a NOT forbids even one: leave the repetition out")


def _refuse_repeat(event: QueryEvent) -> None:
    repeat = event.repeat
    if repeat is None:
        return
    if repeat.least < 1:
        message = "an iteration has at least one event"
        hint = "for events that may be missing, write a pattern with and one without them"
        raise InvalidPatternError(message, event.location, hint=hint)
    if repeat.most is not None and repeat.most < repeat.least:
        message = f"an iteration of at least {repeat.least} cannot have at most {repeat.most} events"
        raise InvalidPatternError(message, event.location, hint=f"write {{{repeat.most},{repeat.least}}}")


class _Names:
    """The names of a pattern, and what an expression may ask of each."""

    def __init__(self, root: Group) -> None:
        self._events: Mapping[str, QueryEvent] = {event.name: event for event in events(root)}
        self._absent = {event.name: number for number, absent in enumerate(absences(root)) for event in absent.events}
        self._branches = [[{event.name for event in events(branch)} for branch in choice.parts] for choice in choices(root)]

    def refuse_predicate(self, predicate: Expression) -> None:
        """Refuse what says nothing of a match."""
        self._refuse_reads(predicate)
        read = variables(predicate)
        absent = sorted(read & self._absent.keys())
        if len(absent) > 1:
            one, other = absent[:2]
            if self._absent[one] == self._absent[other]:
                message = f"no event is both {show(one)} and {show(other)}, and neither may come"
            else:
                message = f"a condition cannot relate {show(one)} to {show(other)}: both must not come"
            hint = "write a condition for each; it may read later events"
            raise InvalidPatternError(message, _where(predicate, absent[1:]), hint=hint)
        for branches in self._branches:
            taken = [sorted(names & read)[0] for names in branches if names & read]
            if len(taken) > 1:
                message = f"{show(taken[0])} and {show(taken[1])} are in two branches of an OR: a match has one of them"
                hint = "write a condition for each and join them by AND: a condition on a branch that was not taken is true"
                raise InvalidPatternError(message, _where(predicate, taken[1:]), hint=hint)

    def refuse_absent(self, value: Expression) -> None:
        """Refuse what no match has."""
        self._refuse_reads(value)
        for read in attributes(value):
            if read.variable in self._absent:
                message = f"{show(read.variable)} must not come: a match has none"
                raise InvalidPatternError(message, read.location)

    def refuse_value(self, value: Expression) -> None:
        """Refuse what has no one value in a match."""
        self.refuse_absent(value)
        for read in plain_attributes(value):
            if self._events[read.variable].repeat is not None:
                message = f"{show(read.variable)} is an iteration, with a value for each of its events"
                hint = "take one of them, or compute one: first(a.x), last(a.x), sum(a.x) and others"
                raise InvalidPatternError(message, read.location, hint=hint)

    def _refuse_reads(self, expression: Expression) -> None:
        for read in attributes(expression):
            if read.variable not in self._events:
                message = f"the pattern has no event {show(read.variable)}"
                hint = did_you_mean(read.variable, self._events) or f"it has {_list(self._events)}"
                raise InvalidPatternError(message, read.location, hint=hint)
        for aggregate in aggregates(expression):
            read = aggregate.operand
            if read.variable in self._absent:
                message = f"{show(read.variable)} must not come: there is nothing to compute over"
                raise InvalidPatternError(message, read.location)
            if self._events[read.variable].repeat is None:
                message = f"{show(read.variable)} is one event: {aggregate.function.value} needs an iteration"
                hint = "read its attribute as it is, or repeat the event: a:A+"
                raise InvalidPatternError(message, read.location, hint=hint)


def _list(names: Iterable[str]) -> str:
    known = [show(name) for name in names]
    return ", ".join(known[:_LISTED] + ["…"] * (len(known) > _LISTED))


def _where(expression: Expression, names: Iterable[str]) -> Location | None:
    return next((read.location for read in attributes(expression) if read.variable in names), None)


def _refuse_options(pattern: EventPattern) -> None:
    if pattern.report not in OF_EVENTS:
        message = f"REPORT {pattern.report.value.upper()} is not for event patterns"
        hint = "one of " + ", ".join(each.value.upper() for each in OF_EVENTS)
        raise InvalidPatternError(message, hint=hint)
    for number, name in enumerate(pattern.partition):
        if name in pattern.partition[:number]:
            message = f"PARTITION BY names {show(name)} twice"
            raise InvalidPatternError(message)
    if pattern.selection.value != "any" and all(event.repeat is None for event in events(pattern.root)):
        message = f"SKIP TILL {pattern.selection.value.upper()} is about iterations, and the pattern has none"
        raise InvalidPatternError(message, hint="repeat an event, as in a:A+, or leave the clause out")
    if pattern.emits_timeouts and not _is_plain_sequence(pattern.root):
        message = "ON TIMEOUT is for a SEQ of events, ORs of events and NOTs"
        raise InvalidPatternError(message, hint="leave it out, or write the inner parts as patterns of their own")


def _is_plain_sequence(root: Group) -> bool:
    return isinstance(root, Seq) and all(
        isinstance(part, QueryEvent | Not)
        or (isinstance(part, Or) and all(isinstance(branch, QueryEvent) for branch in part.parts))
        for part in root.parts
    )


def _refuse_returns(pattern: EventPattern, names: _Names) -> None:
    if pattern.returns is None:
        return
    refuse_fields(pattern.returns)
    for each in pattern.returns.fields:
        if isinstance(each.value, Attribute):
            names.refuse_absent(each.value)
        else:
            names.refuse_value(each.value)


def _refuse_keys(pattern: EventPattern, names: _Names) -> None:
    if pattern.one_per is None:
        return
    refuse_empty(pattern.one_per)
    for key in pattern.one_per.keys:
        names.refuse_value(key)
        is_shared = isinstance(key, Attribute) and key.name in pattern.partition
        if pattern.report is Report.EXISTS and not is_shared:
            message = "under REPORT EXISTS a key is an attribute of PARTITION BY, which all matches of an event share"
            raise InvalidPatternError(message, _where(key, variables(key)))
