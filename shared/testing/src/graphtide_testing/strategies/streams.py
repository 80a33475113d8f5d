"""Streams of edges that make trouble: ties, multi-edges, self-loops, duplicates, deletions, re-insertions.

A stream is a list of steps. Each says what to do relative to what came before; `_play` makes records of the steps.
So any sub-list of the steps is a stream too, and Hypothesis can shrink by dropping steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from graphtide_core.edge import Edge, Operation
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime
from hypothesis import strategies as st

from graphtide_testing.strategies.choices import DrawnChoices, RandomChoices

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from graphtide_core.edge import Value
    from hypothesis.strategies import DrawFn, SearchStrategy

    from graphtide_testing.strategies.choices import Choices


@dataclass(frozen=True, slots=True)
class StreamShape:
    """What may occur in a generated stream; the defaults allow everything.

    `vertices` data vertices named v0, v1, …; vertex i mostly states the label `vertex_labels[i % n]`. `gaps` are the steps of
    time between records, more often chosen where they stand more often. `nameless` streams have edges without ids, which are
    made of their places in the stream, and ids that read like made ones.
    """

    max_records: int = 40
    vertices: int = 4
    labels: tuple[str, ...] = ("x", "y")
    vertex_labels: tuple[str, ...] = ("A", "B")
    gaps: tuple[int, ...] = (0, 1, 0, 1, 2, 0, 1, 3, 7)
    self_loops: bool = True
    multi_edges: bool = True
    duplicates: bool = True
    deletions: bool = True
    negative_ts: bool = True
    attributes: bool = True
    unlabelled_vertices: bool = True
    nameless: bool = True


class _Naming(Enum):
    TEXT = "an id that no number reads like"
    NUMBER = "an id that reads like one made for another record"
    NONE = "none: one is made"


class _Action(Enum):
    INSERT = "insert"
    REPEAT = "insert under an id used before: a duplicate, or a re-insertion after its deletion or expiry"
    DELETE = "delete an id used before: live, expired or deleted already"
    DELETE_UNKNOWN = "delete an id never seen"


@dataclass(frozen=True, slots=True)
class _Step:
    action: _Action
    gap: int
    source: int
    target: int
    label: str
    source_label: str | None
    target_label: str | None
    attributes: tuple[tuple[str, Value], ...]
    back: int
    naming: _Naming


ATTRIBUTES: dict[str, tuple[Value, ...]] = {
    "n": (0, 1, 2, 1.0, 1.5, -1),
    "m": (0, 1, 2.0, 3),
    "s": ("p", "q", "pq"),
    "t": (True, False),
}
"""Attributes a generated edge may carry, and their values."""


def edge_streams(shape: StreamShape | None = None, *, min_records: int = 0) -> SearchStrategy[tuple[Edge, ...]]:
    """Return a strategy for whole streams in the order of (ts, arrival)."""
    chosen = shape or StreamShape()
    steps = st.lists(_steps(chosen), min_size=min_records, max_size=chosen.max_records)
    starts = st.sampled_from((0, -9, 1_000)) if chosen.negative_ts else st.sampled_from((0, 1_000))
    return st.builds(lambda start, done: _play(done, start, chosen), starts, steps)


def random_stream(rng: Random, shape: StreamShape | None = None) -> tuple[Edge, ...]:
    """Return a stream of `shape.max_records` records in the order of (ts, arrival); equal for equal states of `rng`."""
    chosen = shape or StreamShape()
    choices = RandomChoices(rng)
    start = choices.one_of((0, -9, 1_000) if chosen.negative_ts else (0, 1_000))
    return _play([_step(choices, chosen) for _ in range(chosen.max_records)], start, chosen)


@st.composite
def _steps(draw: DrawFn, shape: StreamShape) -> _Step:
    return _step(DrawnChoices(draw), shape)


def _step(choices: Choices, shape: StreamShape) -> _Step:
    source = choices.integer(0, shape.vertices - 1)
    target = choices.integer(0, shape.vertices - 1)
    return _Step(
        action=_action(choices, shape),
        gap=choices.one_of(shape.gaps),
        source=source,
        target=target,
        label=choices.one_of(shape.labels),
        source_label=_stated_label(choices, shape, source),
        target_label=_stated_label(choices, shape, target),
        attributes=_attributes(choices) if shape.attributes else (),
        back=choices.integer(1, 8),
        naming=choices.one_of(tuple(_Naming)) if shape.nameless else _Naming.TEXT,
    )


def _action(choices: Choices, shape: StreamShape) -> _Action:
    options = [_Action.INSERT] * 8
    if shape.duplicates:
        options.append(_Action.REPEAT)
    if shape.deletions:
        options += [_Action.DELETE, _Action.DELETE]
        if choices.rarely(10):
            options = [_Action.DELETE_UNKNOWN]
    return choices.one_of(options)


def _stated_label(choices: Choices, shape: StreamShape, vertex: int) -> str | None:
    """Mostly the vertex's own label; now and then another one or none, since every edge states the labels anew."""
    if not shape.vertex_labels:
        return None
    if not choices.rarely(8):
        return shape.vertex_labels[vertex % len(shape.vertex_labels)]
    return choices.one_of((*shape.vertex_labels, None) if shape.unlabelled_vertices else shape.vertex_labels)


def _attributes(choices: Choices) -> tuple[tuple[str, Value], ...]:
    given: list[tuple[str, Value]] = []
    for name, values in ATTRIBUTES.items():
        if not choices.rarely(3):
            value = choices.one_of(values)
            given.append((name, "q" if choices.rarely(12) else value))
    return tuple(given)


def _play(steps: Sequence[_Step], start: int, shape: StreamShape) -> tuple[Edge, ...]:
    """Turn steps into records. Every new edge gets the id of its position; steps that a knob forbids are bent, not dropped."""
    records: list[Edge] = []
    used: list[EdgeId] = []
    taken: set[tuple[int, int]] = set()
    now = start
    for position, step in enumerate(steps):
        now += step.gap
        ends = _allowed_ends(step, shape, taken)
        taken.add(ends)
        new = EdgeId(_name(step.naming, position))
        old = used[-min(step.back, len(used))] if used else new
        deletes = step.action in (_Action.DELETE, _Action.DELETE_UNKNOWN)
        identity = old if step.action in (_Action.REPEAT, _Action.DELETE) else new
        if not deletes:
            used.append(identity)
        made = identity is new and step.naming is _Naming.NONE and not deletes
        records.append(
            Edge(
                id=identity,
                ts=EventTime(now),
                source=VertexId(f"v{ends[0]}"),
                target=VertexId(f"v{ends[1]}"),
                label=step.label,
                source_label=step.source_label,
                target_label=step.target_label,
                attributes={} if deletes else dict(step.attributes),
                operation=Operation.DELETE if deletes else Operation.INSERT,
                made=made,
            )
        )
    return tuple(records)


def _name(naming: _Naming, position: int) -> str:
    match naming:
        case _Naming.TEXT:
            return f"e{position}"
        case _Naming.NUMBER:
            # Of its neighbour: no two records of a stream get one.
            return str(position ^ 1)
        case _Naming.NONE:
            return str(position)


def _allowed_ends(step: _Step, shape: StreamShape, taken: set[tuple[int, int]]) -> tuple[int, int]:
    """Return the step's ends, moved to the next free ones where they make a self-loop or multi-edge that is not wanted.

    Where no pair of ends is free any more, multi-edges come back.
    """
    count = shape.vertices
    first = step.source * count + step.target
    pairs = [divmod((first + offset) % (count * count), count) for offset in range(count * count)]
    looped = [pair for pair in pairs if shape.self_loops or pair[0] != pair[1]]
    free = [pair for pair in looped if shape.multi_edges or pair not in taken]
    return (free or looped)[0]
