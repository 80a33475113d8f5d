"""Event patterns over the streams of `event_streams`: small, with every feature of the family."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from graphtide_core import predicate
from graphtide_core.errors import InvalidPatternError
from graphtide_core.event_expression import And, Not, Or, QueryEvent, Repeat, Seq, events, positive_events
from graphtide_core.event_pattern import EventPattern, Selection
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.one_per import OnePer
from graphtide_core.pattern import Report
from graphtide_core.predicate import (
    Aggregate,
    Aggregation,
    Arithmetic,
    Attribute,
    Compare,
    Comparison,
    Compute,
    IsNull,
    Literal,
)
from graphtide_core.returns import Field, Returns
from graphtide_core.time import Duration
from hypothesis import strategies as st

from graphtide_testing.strategies.calls import draw_call
from graphtide_testing.strategies.choices import DrawnChoices, RandomChoices
from graphtide_testing.strategies.event_streams import EVENT_ATTRIBUTES, EventStreamShape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from graphtide_core.event_expression import Group, Part
    from graphtide_core.predicate import Expression
    from hypothesis.strategies import DrawFn, SearchStrategy

    from graphtide_testing.strategies.choices import Choices

_COMPARISONS = (Comparison.LESS_OR_EQUAL, Comparison.EQUAL, Comparison.NOT_EQUAL, Comparison.GREATER)
_FUNCTIONS = tuple(Aggregation)


@dataclass(frozen=True, slots=True)
class EventPatternShape:
    """What may occur in a generated pattern; the defaults allow everything.

    Types and attributes are those of `stream`. A pattern has up to `max_events` events that must come and `max_absent` that
    are not, in up to `max_depth` levels, within 1 to `max_within` ticks.
    """

    max_events: int = 4
    max_absent: int = 2
    max_depth: int = 3
    max_within: int = 5
    stream: EventStreamShape = field(default_factory=EventStreamShape)
    groups: tuple[type[Seq | And | Or], ...] = (Seq, Seq, And, Or)
    iterations: bool = True
    predicates: bool = True
    partition: bool = True
    exists: bool = True
    distinct: bool = True
    timeouts: bool = True
    returns: bool = True
    once: bool = True


def event_patterns(shape: EventPatternShape | None = None) -> SearchStrategy[EventPattern]:
    """Return a strategy for patterns."""
    return _patterns(shape or EventPatternShape())


def random_event_pattern(rng: Random, shape: EventPatternShape | None = None) -> EventPattern:
    """Return a pattern; equal for equal states of `rng`."""
    return _pattern(RandomChoices(rng), shape or EventPatternShape())


def families(shape: EventPatternShape) -> SearchStrategy[list[EventPattern]]:
    """Return a strategy for related patterns: many are another with more events, or with another time."""
    kinds = st.lists(st.sampled_from(shape.stream.types), max_size=2)
    within = st.integers(1, shape.max_within).map(Duration)
    kin = st.lists(st.tuples(kinds, within), min_size=1, max_size=3)

    def of(pattern: EventPattern, members: list[tuple[list[str], Duration]]) -> list[EventPattern]:
        return [replace(_longer(pattern, more), within=time) for more, time in members]

    one = st.builds(of, event_patterns(shape), kin)
    return st.lists(one, min_size=1, max_size=3).map(lambda each: [pattern for members in each for pattern in members])


def _longer(pattern: EventPattern, kinds: Sequence[str]) -> EventPattern:
    """Return a sequence of what a pattern asks for and an event of each type."""
    names = (name for number in count() if (name := f"more{number}") not in {event.name for event in pattern.events})
    more = tuple(QueryEvent(next(names), kind) for kind in kinds)
    return replace(pattern, root=Seq((pattern.root, *more)), emits_timeouts=False)


@st.composite
def _patterns(draw: DrawFn, shape: EventPatternShape) -> EventPattern:
    return _pattern(DrawnChoices(draw), shape)


def _pattern(choices: Choices, shape: EventPatternShape) -> EventPattern:
    growth = _Growth(choices, shape)
    root = growth.group(choices.integer(1, shape.max_events), shape.max_depth, inside_or=False)
    iterates = any(event.repeat is not None for event in events(root))
    pattern = EventPattern(
        name=PatternName("generated"),
        root=root,
        within=Duration(choices.integer(1, shape.max_within)),
        stream=StreamName("generated"),
        report=Report.EXISTS if shape.exists and choices.rarely(5) else Report.ALL,
        selection=Selection.NEXT if iterates and choices.rarely(2) else Selection.ANY,
        partition=("k",) if shape.partition and choices.rarely(5) else (),
        is_distinct=shape.distinct and choices.rarely(8),
    )
    if shape.timeouts and choices.rarely(3):
        pattern = _if_allowed(pattern, emits_timeouts=True)
    if shape.predicates:
        for _ in range(choices.one_of((0, 0, 1, 1, 2, 3))):
            pattern = _if_allowed(pattern, predicate=_predicate(choices, root))
    if shape.returns and choices.rarely(2):
        pattern = replace(pattern, returns=_returns(choices, root))
    if shape.once and choices.rarely(4):
        pattern = replace(pattern, one_per=_one_per(choices, pattern, shape))
    return pattern


def _if_allowed(pattern: EventPattern, *, predicate: Expression | None = None, emits_timeouts: bool = False) -> EventPattern:
    """Return the pattern with what is drawn for it, or as it is if a pattern of its form cannot have that."""
    more = () if predicate is None else (predicate,)
    try:
        return replace(
            pattern,
            predicates=(*pattern.predicates, *more),
            emits_timeouts=pattern.emits_timeouts or emits_timeouts,
        )
    except InvalidPatternError:
        return pattern


@dataclass(slots=True)
class _Growth:
    """Grows an event expression."""

    choices: Choices
    shape: EventPatternShape
    absent: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def group(self, size: int, depth: int, *, inside_or: bool) -> Group:
        """Return a group of `size` events that must come."""
        kind = self.choices.one_of(self.shape.groups)
        chooses = inside_or or kind is Or
        parts: list[Part] = []
        while size > 0:
            self._forbid(parts, chooses=chooses)
            taken = self.choices.integer(1, size)
            parts.append(self._part(taken, depth - 1, inside_or=chooses))
            size -= taken
        self._forbid(parts, chooses=chooses)
        return kind(tuple(parts))

    def _part(self, size: int, depth: int, *, inside_or: bool) -> Part:
        if depth == 0 or (size == 1 and not self.choices.rarely(10)):
            single = self._event(can_repeat=True)
            return single if size == 1 else Seq((single, *(self._event(can_repeat=True) for _ in range(size - 1))))
        return self.group(size, depth, inside_or=inside_or)

    def _forbid(self, parts: list[Part], *, chooses: bool) -> None:
        """Put a NOT behind the parts so far, now and then."""
        if chooses or self.absent >= self.shape.max_absent or not self.choices.rarely(5):
            return
        kinds = 2 if self.absent + 2 <= self.shape.max_absent and self.choices.rarely(4) else 1
        self.absent += kinds
        parts.append(Not(tuple(self._event(can_repeat=False) for _ in range(kinds))))

    def _event(self, *, can_repeat: bool) -> QueryEvent:
        kind = None if self.choices.rarely(8) else self.choices.one_of(self.shape.stream.types)
        repeats = can_repeat and self.shape.iterations and self.choices.rarely(5)
        repeat = self.choices.one_of((Repeat(1), Repeat(2), Repeat(1, 2), Repeat(2, 3))) if repeats else None
        return QueryEvent(f"e{next(self.numbers)}", kind, repeat)


def _predicate(choices: Choices, root: Group) -> Expression:
    names = [event.name for event in events(root)]
    repeated = [event.name for event in positive_events(root) if event.repeat is not None]
    match choices.integer(0, 5):
        case 0 | 1:
            return _own(choices, choices.one_of(names))
        case 2:
            name = choices.one_of(names)
            return predicate.Disjunction((_own(choices, name), IsNull(Attribute(name, choices.one_of(("n", "absent"))))))
        case 3 if repeated:
            return _compute(choices, choices.one_of(repeated))
        case _:
            name = choices.one_of(("n", "k", "ts"))
            left, right = (draw_call(choices, Attribute(choices.one_of(names), name)) for _ in range(2))
            return Compare(choices.one_of(_COMPARISONS), left, right)


def _returns(choices: Choices, root: Group) -> Returns:
    fields = tuple(Field(f"f{number}", _draw_returned(choices, root)) for number in range(choices.integer(0, 3)))
    return Returns(fields, everything=not fields or choices.rarely(4))


def _draw_returned(choices: Choices, root: Group) -> Expression:
    places = positive_events(root)
    single = [event.name for event in places if event.repeat is None]
    repeated = [event.name for event in places if event.repeat is not None]
    match choices.integer(0, 4):
        case 0 if len(single) > 1:
            return Compute(Arithmetic.SUBTRACT, *(Attribute(choices.one_of(single), "ts") for _ in range(2)))
        case 1 if single:
            return IsNull(Attribute(choices.one_of(single), choices.one_of(("n", "absent"))))
        case 2 | 3 if repeated:
            operand = Attribute(choices.one_of(repeated), choices.one_of(("n", "ts", "k", "id", "absent")))
            return Aggregate(choices.one_of(_FUNCTIONS), operand)
        case _:
            return Attribute(choices.one_of(places).name, choices.one_of(("n", "k", "ts", "id", "type", "src", "absent")))


def _one_per(choices: Choices, pattern: EventPattern, shape: EventPatternShape) -> OnePer | None:
    """Return ONE PER for a pattern that may have it: intervals are shorter and longer than a match."""
    places = positive_events(pattern.root)
    if pattern.report is Report.EXISTS:
        places = tuple(event for event in places if event.repeat is None) if pattern.partition else ()
    if not places:
        return None
    keys: list[Expression] = []
    for _ in range(choices.integer(1, 2)):
        event = choices.one_of(places)
        if pattern.report is Report.EXISTS:
            keys.append(Attribute(event.name, choices.one_of(pattern.partition)))
        elif event.repeat is None:
            keys.append(Attribute(event.name, choices.one_of(("n", "k", "type", "ts", "absent"))))
        else:
            keys.append(Aggregate(choices.one_of(_FUNCTIONS), Attribute(event.name, choices.one_of(("n", "k", "ts")))))
    return OnePer(tuple(keys), Duration(choices.integer(1, 3 * shape.max_within)))


def _own(choices: Choices, name: str) -> Expression:
    attribute = choices.one_of(tuple(EVENT_ATTRIBUTES))
    value = Literal(choices.one_of(EVENT_ATTRIBUTES[attribute]))
    return Compare(choices.one_of(_COMPARISONS), draw_call(choices, Attribute(name, attribute)), value)


def _compute(choices: Choices, name: str) -> Expression:
    aggregate = Aggregate(choices.one_of(_FUNCTIONS), Attribute(name, choices.one_of(("n", "n", "ts", "k"))))
    other: Expression = Literal(choices.one_of((1, 2, 1.5)))
    if choices.rarely(3):
        other = Attribute(name, "n")
    return Compare(choices.one_of(_COMPARISONS), draw_call(choices, aggregate), other)
