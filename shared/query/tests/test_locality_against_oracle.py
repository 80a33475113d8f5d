"""A pattern that is proved local finds in parts what it finds in the whole stream, after every record.

Random patterns get equalities that make some of them local and others nearly so: one wrongly taken for local would differ.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest
from graphtide_core.part_key import BY_VERTEX, PartKey, part_of
from graphtide_core.pattern import OF_SIMULATION, Report
from graphtide_query.families import family_of
from graphtide_testing.local_patterns import nearly_local_events, nearly_local_pattern, nearly_local_query
from graphtide_testing.oracles.events import EventOracle
from graphtide_testing.oracles.graph_queries import GraphQueryOracle
from graphtide_testing.oracles.simulation import SimulationOracle
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.parts import divide, one_key_an_id
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import (
    EventStreamShape,
    StreamShape,
    random_event_stream,
    random_stream,
)

if TYPE_CHECKING:
    from graphtide_core.graph_query import GraphQuery
    from graphtide_query.locality import Locality

PARTS: Final = (2, 3, 8)
OF_EDGES: Final = (PartKey("src"), PartKey("dst"), BY_VERTEX, PartKey("n"), PartKey("s"), PartKey("label"))

Push = Callable[[Any], Sequence[Any]]
"""Takes a record and returns what it brings about."""


def _compare(
    whole: Push,
    by_part: Sequence[Push],
    records: Sequence[Any],
    key: PartKey,
    owner: Callable[[Any], str] | None,
) -> int:
    """Compare after each record; return how many were emitted."""
    count = 0
    parts = len(by_part)
    for record, shared in zip(one_key_an_id(records, key, parts), divide(records, key, parts), strict=True):
        expected = Counter(whole(record))
        emitted = [(number, each) for number, push in enumerate(by_part) for each in push(shared[number])]
        assert Counter(each for number, each in emitted if owner is None or part_of(owner(each), parts) == number) == expected
        count += expected.total()
    return count


def _in_its_part(push: Sequence[Push], locality: Locality) -> list[Push]:
    """Return the parts. If there is a constant, only its part matches."""
    if locality.constant is None:
        return list(push)
    (value,) = locality.constant
    own = part_of(value, len(push))
    return [each if number == own else (lambda _: ()) for number, each in enumerate(push)]


@pytest.mark.parametrize("report", [Report.ALL, *OF_SIMULATION])
def test_patterns_of_edges(report: Report) -> None:
    emitted = local = others = 0
    for seed in seeds(150):
        rng = random.Random(seed)
        key, parts = rng.choice(OF_EDGES), rng.choice(PARTS)
        pattern = nearly_local_pattern(rng, key, report)
        locality = family_of(pattern).locality(pattern, key)
        if not locality.is_local:
            others += 1
            continue
        local += 1
        oracle = SubgraphOracle if report is Report.ALL else SimulationOracle
        # A duplicate does not let edges expire, and the time that other parts get in its place does.
        edges = random_stream(rng, StreamShape(max_records=30, duplicates=report is not Report.CHANGES))
        by_part = _in_its_part([_as_list(oracle(pattern)) for _ in range(parts)], locality)
        owner = (lambda found, name=locality.owners[0]: dict(found.vertices)[name]) if locality.owners else None
        emitted += _compare(_as_list(oracle(pattern)), by_part, edges, key, owner)
    assert local > 15, "some cases must be local"
    assert others > 15, "some cases must not be"
    assert emitted > 20, "the cases must have matches"


def _as_list(oracle: Any) -> Push:
    return lambda record: list(oracle.push(record))


def test_event_patterns() -> None:
    emitted = local = others = 0
    for seed in seeds(300):
        rng = random.Random(seed)
        field, parts = rng.choice(("k", "n", "k", "n", "label")), rng.choice(PARTS)
        pattern = nearly_local_events(rng, field)
        key = PartKey(field)
        locality = family_of(pattern).locality(pattern, key)
        if not locality.is_local:
            others += 1
            continue
        local += 1
        events = random_event_stream(rng, EventStreamShape())
        by_part = _in_its_part([_as_list(EventOracle(pattern)) for _ in range(parts)], locality)
        emitted += _compare(_as_list(EventOracle(pattern)), by_part, events, key, None)
    assert local > 30, "some cases must be local"
    assert others > 30, "some cases must not be"
    assert emitted > 20, "the cases must have matches"


def test_graph_queries() -> None:
    emitted = local = others = 0
    for seed in seeds(300):
        rng = random.Random(seed)
        key, parts = rng.choice((PartKey("src"), PartKey("dst"), BY_VERTEX, PartKey("n"))), rng.choice(PARTS)
        query = nearly_local_query(rng, key)
        locality = family_of(query).locality(query, key)
        if not locality.is_local:
            others += 1
            continue
        local += 1
        edges = random_stream(rng, StreamShape(max_records=20, vertices=3, labels=("a", "b", "c")))
        by_part = _in_its_part([_intervals(query) for _ in range(parts)], locality)
        place = None
        if locality.owners:
            (column,) = locality.owners
            place = query.outputs[0].columns.index(column)
        owner = None if place is None else (lambda found, place=place: found.row[place])
        emitted += _compare(_intervals(query), by_part, edges, key, owner)
    assert local > 30, "some cases must be local"
    assert others > 30, "some cases must not be"
    assert emitted > 50, "the cases must have results"


def _intervals(query: GraphQuery) -> Push:
    """Return what is emitted, without the number of the record within its instant: it counts the records of a part."""
    oracle = GraphQueryOracle(query)
    return lambda record: [replace(each, nth=0) for each in oracle.push(record)]
