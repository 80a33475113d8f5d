"""Random event patterns that have much in common, and events that fill a sub-pattern; the same for the same seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.event_expression import And, Not, Or, QueryEvent, Repeat, Seq, events
from graphtide_core.event_pattern import EventPattern, Selection
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.predicate import Attribute, Compare, Comparison, Literal
from graphtide_core.time import Duration

from graphtide_testing.oracles.sub_patterns import Happening
from graphtide_testing.strategies.event_streams import EVENT_ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from graphtide_core.edge import Value
    from graphtide_core.event_expression import Part
    from graphtide_core.plans.events import SubPattern
    from graphtide_core.predicate import Expression

    from graphtide_testing.oracles.sub_patterns import Filling

TYPES: Final = "ABCDEF"
VALUES: Final = 3
LONGEST: Final = 8


def random_patterns(random: Random, count: int) -> list[EventPattern]:
    """Return patterns of nested SEQ, AND, OR and NOT over six types, with lists, predicates and partitions."""
    return [_pattern(random, number) for number in range(count)]


def _pattern(random: Random, number: int) -> EventPattern:
    named = iter(range(100))
    root = _group(random, named, depth=random.choice((0, 0, 1)), may_lack=True)
    names = [event.name for event in events(root)]
    selections = (Selection.ANY, Selection.ANY, Selection.NEXT)
    repeats = any(event.repeat is not None for event in events(root))
    return EventPattern(
        PatternName(f"p{number}"),
        root,
        Duration(random.choice((3, 5, LONGEST))),
        StreamName("s"),
        tuple(_predicates(random, root, names)),
        selection=random.choice(selections) if repeats else Selection.ANY,
        partition=random.choice(((), (), ("who",))),
    )


def _group(random: Random, named: Iterator[int], depth: int, *, may_lack: bool) -> Seq | And:
    parts: list[Part] = [_part(random, named, depth, may_lack=may_lack) for _ in range(random.randint(2, 3))]
    for _ in range(random.choice((0, 0, 1)) if may_lack else 0):
        parts.insert(random.randint(0, len(parts)), Not((_event(random, named),)))
    return random.choice((Seq, And))(tuple(parts))


def _part(random: Random, named: Iterator[int], depth: int, *, may_lack: bool) -> Part:
    if random.random() < 0.15:
        choice = random.sample(TYPES, 2)
        if depth and random.random() < 0.5:
            return Or((_event(random, named), _group(random, named, 0, may_lack=False)))
        return Or(tuple(QueryEvent(_name(named), kind) for kind in choice))
    if depth and random.random() < 0.5:
        return _group(random, named, depth - 1, may_lack=may_lack)
    repeat = random.choice((None,) * 6 + (Repeat(1), Repeat(2, 3)))
    event = _event(random, named)
    return QueryEvent(event.name, event.type, repeat)


def _event(random: Random, named: Iterator[int]) -> QueryEvent:
    return QueryEvent(_name(named), random.choice(TYPES))


def _name(named: Iterator[int]) -> str:
    return f"e{next(named)}"


def _predicates(random: Random, root: Part, names: list[str]) -> list[Expression]:
    found: list[Expression] = []
    for name in names:
        if random.random() < 0.4:
            comparison = random.choice((Comparison.LESS, Comparison.EQUAL, Comparison.GREATER_OR_EQUAL))
            found.append(Compare(comparison, Attribute(name, "x"), Literal(random.randrange(VALUES))))
    absent = {event.name for event in events(root)} - {event.name for event in _positives(root)}
    positives = [event.name for event in _positives(root)]
    for name in random.sample(names, min(2, len(names))):
        if random.random() < 0.4 and positives:
            other = random.choice(positives)
            if other != name and (name in absent or name in positives):
                found.append(Compare(Comparison.LESS_OR_EQUAL, Attribute(name, "x"), Attribute(other, "x")))
    return found


def _positives(part: Part) -> list[QueryEvent]:
    """Return the events that each match has: those outside ORs."""
    match part:
        case QueryEvent():
            return [part]
        case Seq(parts) | And(parts):
            return [event for each in parts for event in _positives(each)]
        case _:
            return []


def random_fillings(random: Random, sub_pattern: SubPattern) -> list[Filling]:
    """Return events for each slot of a sub-pattern: of its types, mostly in its order and soon after each other."""
    later = [sum(other == slot for _, other in sub_pattern.order) for slot in range(len(sub_pattern.slots))]
    by_order = sorted(range(len(later)), key=lambda slot: (later[slot], random.random()))
    longest = random.choice((2, 5, LONGEST))
    counts = [1 if slot.repeat is None else slot.repeat.least + random.randrange(2) for slot in sub_pattern.slots]
    times = sorted(random.randint(0, longest) for _ in range(sum(counts)))
    who = random.choice("uv")
    fillings: list[Filling] = [()] * len(counts)
    for slot in by_order:
        types = sub_pattern.slots[slot].types or tuple(TYPES)
        own, times = times[: counts[slot]], times[counts[slot] :]
        fillings[slot] = tuple(Happening(random.choice(types), ts, _attributes(random, who)) for ts in own)
    return fillings


def random_events(random: Random, count: int) -> list[Happening]:
    """Return events that fill no slot."""
    return [
        Happening(random.choice(TYPES), random.randint(-LONGEST, 2 * LONGEST), _attributes(random, random.choice("uv")))
        for _ in range(count)
    ]


def _attributes(random: Random, who: str) -> dict[str, Value]:
    """Return those of these patterns, and those of `strategies.event_patterns`; one in eight of the latter is missing."""
    own: dict[str, Value] = {"x": random.randrange(VALUES), "who": who}
    for name, values in EVENT_ATTRIBUTES.items():
        if random.randrange(8):
            own[name] = values[0] if name == "k" and who == "u" else random.choice(values)
    return own
