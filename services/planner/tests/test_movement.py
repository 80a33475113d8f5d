"""A snapshot leads to new plans where labels have moved, and nowhere else."""

from __future__ import annotations

import pytest
from graphtide_core.statistics import DriftPolicy, EdgeType, StatisticsSnapshot, TimeRange
from graphtide_core.time import EventTime
from graphtide_planner.domain.movement import Movement

ALL = None
NONE_MOVED: frozenset[str] = frozenset()
LOGIN = frozenset({"login"})
BUSY = {"web": 90_000, "dns": 9_000, "login": 1_000}


def snapshot(counts: dict[str, int], ticks: int = 1_000) -> StatisticsSnapshot:
    types = {EdgeType(None, label, None): count for label, count in counts.items()}
    return StatisticsSnapshot(window=TimeRange(EventTime(0), EventTime(ticks)), edges=sum(counts.values()), types=types)


@pytest.fixture
def movement() -> Movement:
    found = Movement.begin(DriftPolicy())
    assert found.take(snapshot(BUSY)) is ALL, "of what was not known before everything is news"
    return found


@pytest.mark.parametrize(
    ("counts", "moved"),
    [
        (BUSY, NONE_MOVED),
        (BUSY | {"login": 1_500}, NONE_MOVED),
        (BUSY | {"login": 2_500}, LOGIN),
        (BUSY | {"login": 400, "dns": 20_000}, LOGIN | {"dns"}),
        (BUSY | {"transfer": 500}, frozenset({"transfer"})),
        (BUSY | {"transfer": 5}, NONE_MOVED),
        ({"web": 90_000, "dns": 9_000}, LOGIN),
        ({"web": 9_000, "dns": 90_000, "login": 1_000}, ALL),
    ],
)
def test_labels_move_that_are_twice_or_half_as_frequent(
    movement: Movement, counts: dict[str, int], moved: frozenset[str] | None
) -> None:
    assert movement.take(snapshot(counts)) == moved
    assert movement.take(snapshot(counts)) == NONE_MOVED, "it was returned before"


def test_what_counts_is_the_rate_and_not_the_number(movement: Movement) -> None:
    assert movement.take(snapshot({label: 3 * count for label, count in BUSY.items()}, ticks=3_000)) == NONE_MOVED


def test_slow_changes_add_up(movement: Movement) -> None:
    assert movement.take(snapshot(BUSY | {"login": 1_500})) == NONE_MOVED
    assert movement.take(snapshot(BUSY | {"login": 2_200})) == LOGIN


def test_a_snapshot_of_few_edges_is_not_believed(movement: Movement) -> None:
    assert movement.take(snapshot({"dns": 999})) == NONE_MOVED
    assert movement.take(snapshot(BUSY)) == NONE_MOVED
