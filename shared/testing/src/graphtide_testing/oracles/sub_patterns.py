"""Whether events match a sub-pattern, from its definition: each condition by itself, in the plain way."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, product
from typing import TYPE_CHECKING

from graphtide_core.predicate import plain_attributes, variables
from graphtide_core.time import TimeUnit

from graphtide_testing.oracles.predicates import aggregate, evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.edge import Value
    from graphtide_core.plans.events import Absence, SubPattern
    from graphtide_core.predicate import Aggregate, Attribute, Expression


@dataclass(frozen=True, eq=False, slots=True)
class Happening:
    """An event: one is equal to itself alone."""

    type: str
    ts: int
    attributes: Mapping[str, Value] = field(default_factory=dict)


Filling = tuple[Happening, ...]
"""What fills a slot: one event, or those of a list."""


def matches(
    sub_pattern: SubPattern, fillings: Sequence[Filling], stream: Sequence[Happening], unit: TimeUnit = TimeUnit.MILLISECOND
) -> bool:
    """Return whether events fill the slots of a sub-pattern, and none of the stream is what must not come."""
    match = list(chain.from_iterable(fillings))
    span = max(event.ts for event in match) - min(event.ts for event in match)
    return (
        len(match) == len({id(event) for event in match})
        and all(_fills(sub_pattern, slot, filling) for slot, filling in enumerate(fillings))
        and all(_latest(fillings, [one]) <= _earliest(fillings, [other]) for one, other in sub_pattern.order)
        and span <= sub_pattern.within.ticks(unit)
        and all(_are_alike(sub_pattern, [match[0], event]) for event in match)
        and all(_holds(each, fillings) for each in sub_pattern.predicates if _absence_of(each) is None)
        and not any(_comes(sub_pattern, index, fillings, stream, unit) for index in range(len(sub_pattern.absences)))
    )


def _fills(sub_pattern: SubPattern, slot: int, filling: Filling) -> bool:
    asked = sub_pattern.slots[slot]
    least, most = (1, 1) if asked.repeat is None else (asked.repeat.least, asked.repeat.most)
    return (
        all(not asked.types or event.type in asked.types for event in filling)
        and len(filling) >= least
        and (most is None or len(filling) <= most)
    )


def _are_alike(sub_pattern: SubPattern, events: Sequence[Happening]) -> bool:
    values = [[event.attributes.get(name) for name in sub_pattern.partition] for event in events]
    return all(value == values[0] and None not in value for value in values)


def _holds(predicate: Expression, fillings: Sequence[Filling], absent: Happening | None = None) -> bool:
    """Return whether a predicate is true, of lists for each of their events; aggregates are over all of them."""

    def events_of(name: str) -> Sequence[Happening]:
        if name[0] == "n":
            assert absent is not None
            return (absent,)
        return sorted(fillings[int(name[1:])], key=lambda event: event.ts)

    def compute(asked: Aggregate) -> Value:
        operand = asked.operand
        return aggregate(asked.function, [_read(event, operand.name) for event in events_of(operand.variable)])

    names = sorted({each.variable for each in plain_attributes(predicate)})
    for events in product(*map(events_of, names)):
        plain = dict(zip(names, events, strict=True))

        def look_up(attribute: Attribute, plain: Mapping[str, Happening] = plain) -> Value:
            return _read(plain[attribute.variable], attribute.name)

        if evaluate(predicate, look_up, compute) is not True:
            return False
    return True


def _read(event: Happening, name: str) -> Value:
    return event.ts if name == "ts" else event.attributes.get(name)


def _absence_of(predicate: Expression) -> int | None:
    return next((int(name[1:]) for name in sorted(variables(predicate)) if name[0] == "n"), None)


def _comes(
    sub_pattern: SubPattern, index: int, fillings: Sequence[Filling], stream: Sequence[Happening], unit: TimeUnit
) -> bool:
    absence = sub_pattern.absences[index]
    first, last = _bounds(absence, fillings, sub_pattern.within.ticks(unit) // 1)
    match = list(chain.from_iterable(fillings))
    conditions = [each for each in sub_pattern.predicates if _absence_of(each) == index]
    return any(
        first <= event.ts <= last
        and (not absence.types or event.type in absence.types)
        and event not in match
        and _are_alike(sub_pattern, [match[0], event])
        and all(_holds(each, fillings, event) for each in conditions)
        for event in stream
    )


def _bounds(absence: Absence, fillings: Sequence[Filling], longest: int) -> tuple[int, int]:
    if absence.is_inner:
        return _earliest(fillings, absence.within), _latest(fillings, absence.within)
    first = _latest(fillings, absence.after) if absence.after else _latest(fillings, absence.within) - longest
    last = _earliest(fillings, absence.before) if absence.before else _earliest(fillings, absence.within) + longest
    return first, last


def _earliest(fillings: Sequence[Filling], slots: Sequence[int]) -> int:
    return min(event.ts for slot in slots for event in fillings[slot])


def _latest(fillings: Sequence[Filling], slots: Sequence[int]) -> int:
    return max(event.ts for slot in slots for event in fillings[slot])
