"""Streams of events that make trouble: ties, few types, duplicates, deletions, re-insertions, attributes that are missing.

A stream is a list of steps. Each says what to do relative to what came before. So any sub-list of them is a stream too, and
Hypothesis can shrink by dropping steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from graphtide_core.edge import Operation
from graphtide_core.event import Event
from graphtide_core.ids import EdgeId
from graphtide_core.time import EventTime
from hypothesis import strategies as st

from graphtide_testing.strategies.choices import DrawnChoices, RandomChoices

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from graphtide_core.edge import Value
    from hypothesis.strategies import DrawFn, SearchStrategy

    from graphtide_testing.strategies.choices import Choices

EVENT_ATTRIBUTES: dict[str, tuple[Value, ...]] = {"n": (0, 1, 2, 1.0, 1.5), "k": ("p", "q", "p", 1)}
"""Attributes that events may have, and their values."""


@dataclass(frozen=True, slots=True)
class EventStreamShape:
    """What may occur in a generated stream; the defaults allow everything.

    `gaps` are the steps of time between records, more often chosen where they stand more often.
    """

    max_records: int = 16
    types: tuple[str, ...] = ("A", "B", "C")
    gaps: tuple[int, ...] = (0, 1, 0, 1, 2, 3)
    duplicates: bool = True
    deletions: bool = True
    negative_ts: bool = True
    attributes: bool = True


class _Action(Enum):
    INSERT = "insert"
    INSERT_NAMELESS = "insert without an id: one is made"
    REPEAT = "insert under an id used before: a duplicate, or a re-insertion after its deletion or expiry"
    DELETE = "delete an id used before: live, expired or deleted already"


@dataclass(frozen=True, slots=True)
class _Step:
    action: _Action
    gap: int
    type: str
    attributes: tuple[tuple[str, Value], ...]
    back: int


def event_streams(shape: EventStreamShape | None = None, *, min_records: int = 0) -> SearchStrategy[tuple[Event, ...]]:
    """Return a strategy for whole streams in the order of (ts, arrival)."""
    chosen = shape or EventStreamShape()
    steps = st.lists(_steps(chosen), min_size=min_records, max_size=chosen.max_records)
    return st.builds(_play, steps, st.sampled_from(_starts(chosen)))


def random_event_stream(rng: Random, shape: EventStreamShape | None = None) -> tuple[Event, ...]:
    """Return a stream of `shape.max_records` records in the order of (ts, arrival); equal for equal states of `rng`."""
    chosen, choices = shape or EventStreamShape(), RandomChoices(rng)
    start = choices.one_of(_starts(chosen))
    return _play([_step(choices, chosen) for _ in range(chosen.max_records)], start)


def _starts(shape: EventStreamShape) -> tuple[int, ...]:
    return (0, -4, 1_000) if shape.negative_ts else (0, 1_000)


@st.composite
def _steps(draw: DrawFn, shape: EventStreamShape) -> _Step:
    return _step(DrawnChoices(draw), shape)


def _step(choices: Choices, shape: EventStreamShape) -> _Step:
    actions = [_Action.INSERT] * 7 + [_Action.INSERT_NAMELESS]
    if shape.duplicates:
        actions.append(_Action.REPEAT)
    if shape.deletions:
        actions.append(_Action.DELETE)
    given = {name: values for name, values in EVENT_ATTRIBUTES.items() if shape.attributes and not choices.rarely(8)}
    return _Step(
        action=choices.one_of(actions),
        gap=choices.one_of(shape.gaps),
        type=choices.one_of(shape.types),
        attributes=tuple((name, choices.one_of(values)) for name, values in given.items()),
        back=choices.integer(1, 4),
    )


def _play(steps: Sequence[_Step], start: int) -> tuple[Event, ...]:
    """Turn steps into records. Every new event gets the id of its position; its ordinal, where it has none."""
    records: list[Event] = []
    used: list[EdgeId] = []
    now = start
    for position, step in enumerate(steps):
        now += step.gap
        is_made = step.action is _Action.INSERT_NAMELESS
        new = EdgeId(str(position) if is_made else f"e{position}")
        repeats = step.action in (_Action.REPEAT, _Action.DELETE) and used
        identity = used[-min(step.back, len(used))] if repeats else new
        deletes = step.action is _Action.DELETE
        if not deletes and not is_made:
            used.append(identity)
        operation = Operation.DELETE if deletes else Operation.INSERT
        attributes = {} if deletes else dict(step.attributes)
        records.append(Event(identity, EventTime(now), step.type, attributes, operation, is_made))
    return tuple(records)
