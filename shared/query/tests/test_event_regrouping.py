"""Units of event patterns that run are regrouped where that saves what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_core.event_expression import QueryEvent, Seq
from graphtide_core.event_pattern import EventPattern
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.plans import EventUnit
from graphtide_core.statistics import EdgeType, StatisticsSnapshot, TimeRange
from graphtide_core.time import Duration, EventTime, TimeUnit
from graphtide_query.families.events.builders import aggregate
from graphtide_query.families.events.regrouping import regroup_units

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

UNIT = TimeUnit.MILLISECOND


def seq(name: str, types: str, within: int = 10) -> EventPattern:
    parts = tuple(QueryEvent(f"a{place}", kind) for place, kind in enumerate(types))
    return EventPattern(PatternName(name), Seq(parts), Duration(within), StreamName("s"))


def count(counts: Mapping[str, int]) -> StatisticsSnapshot:
    window = TimeRange(EventTime(0), EventTime(1000))
    types = {EdgeType("", kind, ""): count for kind, count in counts.items()}
    return StatisticsSnapshot(window=window, edges=sum(counts.values()), types=types)


def alone(patterns: Sequence[EventPattern]) -> list[EventUnit]:
    return [EventUnit((pattern,), aggregate([pattern], "none")) for pattern in patterns]


EVENLY = count(dict.fromkeys("ABCDEFG", 1000))
KIN = [seq(f"p{kind}", f"AB{kind}") for kind in "CDEFG"]


def test_patterns_that_came_one_by_one_share_what_they_have_in_common() -> None:
    found = regroup_units(alone(KIN), UNIT, EVENLY)
    assert found is not None
    assert sorted(pattern.name for pattern in found.unit.patterns) == ["pC", "pD", "pE", "pF", "pG"]
    assert [alone(KIN)[which].patterns[place] for which, place in found.before] == list(found.unit.patterns)
    shared = [vertex for vertex in found.unit.aggregation.vertices if len(vertex.sub_pattern.slots) == 2]
    assert len(shared) == 1


def test_a_unit_is_left_as_it_is_until_enough_have_come() -> None:
    joined = regroup_units(alone(KIN), UNIT, EVENLY)
    assert joined is not None
    assert regroup_units([joined.unit], UNIT, EVENLY) is None
    assert regroup_units([*alone([seq("x", "XYZ")]), joined.unit], UNIT, EVENLY) is None


def test_few_newcomers_are_examined_against_the_plan_as_it_is() -> None:
    many = [seq(f"p{one}{other}", f"AB{one}{other}") for one in "CDEF" for other in "CDEF" if one != other]
    running = EventUnit(tuple(many), aggregate(many, "casem"))
    newcomers = [seq("n1", "ABG"), seq("n2", "ABCG")]
    found = regroup_units([*alone(newcomers), running], UNIT, EVENLY, margin=1.0)
    assert found is not None
    assert found.unit.patterns == (*many, *newcomers)
    assert found.before[-2:] == ((0, 0), (1, 0))
    before = {vertex.sub_pattern for vertex in running.aggregation.vertices}
    assert before <= {vertex.sub_pattern for vertex in found.unit.aggregation.vertices}


@pytest.mark.parametrize("builder", ["none", "casem"])
@pytest.mark.parametrize("last", [1000, 10])
def test_a_plan_made_for_another_stream_is_made_anew(builder: str, last: int) -> None:
    # To store A, B, C for all is worth it where there are many of them that something follows.
    patterns = [seq(f"p{kind}", f"ABC{kind}") for kind in "DEFG"]
    running = EventUnit(tuple(patterns), aggregate(patterns, builder))
    now = count({**dict.fromkeys("ABC", 1000), **dict.fromkeys("DEFG", last)})
    is_best = builder == ("casem" if last == 1000 else "none")
    assert (regroup_units([running], UNIT, now) is None) is is_best
