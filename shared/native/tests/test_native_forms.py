"""A plan of any class is matched by its native form, and stays what the matcher knows its pattern by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pytest
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime, TimeUnit
from graphtide_native.flaws import flaw
from graphtide_native.matcher import Matcher
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.spec import Limits
from graphtide_query import parse
from graphtide_query.families import PlannerOptions
from graphtide_query.planner import plan_all
from graphtide_testing.feeding import Feed
from graphtide_testing.records import to_json_lines

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.plans import NativePlan
    from graphtide_native.records import EdgeBatch

TEXTS: Final = {
    "edges": "PATTERN p MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y ON s WINDOW 10",
    "component": "PATTERN p MATCH (a)-[x:k]->(b)-[y:k]->(c) UNDER DUAL SIMULATION ON s WINDOW 10",
    "events": "PATTERN p SEQ(x:k, y:k) ON s WITHIN 10",
    "query": "QUERY p CONSTRUCT (a)-[:r]->(c) MATCH (a)-[:k]->(b)-[:k]->(c) ON s WINDOW(10)",
}
"""A text for each layout of matches."""

STREAM: Final = tuple(
    Edge(EdgeId(f"e{ts}"), EventTime(ts), VertexId(f"v{ts}"), VertexId(f"v{ts + 1}"), "k") for ts in range(1, 5)
)


@dataclass(frozen=True, slots=True)
class Beside:
    """A plan of a class that nothing below the families knows."""

    native: NativePlan
    engine: str = "beside"

    @property
    def pattern(self) -> AnyPattern:
        """The pattern of the native form."""
        return self.native.pattern


def decode(*edges: Edge) -> EdgeBatch:
    return JsonLinesDecoder(Symbols(), [], {}).decode(to_json_lines(edges))


def make_plan(kind: str) -> NativePlan:
    return plan_all(parse(TEXTS[kind]), PlannerOptions())[0].native


@pytest.mark.parametrize("kind", TEXTS)
def test_its_matches_are_those_of_the_native_form(kind: str) -> None:
    own = make_plan(kind)
    found = Feed(Beside(own)).matches(*STREAM)
    assert found
    assert found == Feed(own).matches(*STREAM)


@pytest.mark.parametrize("kind", TEXTS)
def test_it_is_kept_when_it_joins_and_when_plans_are_exchanged(kind: str) -> None:
    fed, plan = Feed(make_plan(kind), adaptive=True), Beside(make_plan(kind))
    number = fed.matcher.add(plan, Limits(), unreported=[], reported=[])
    assert fed.matcher.plan(number) is plan
    fed.push(*STREAM[:2])
    other = Beside(make_plan(kind), "other")
    assert fed.matcher.exchange({number: other}, [decode(*STREAM[:2])]) == {number}
    assert fed.matcher.plan(number) is other
    assert {match.query for match in fed.matches(*STREAM[2:])} == {"p"}


@pytest.mark.parametrize("kind", TEXTS)
def test_records_name_its_pattern(kind: str) -> None:
    plan = Beside(make_plan(kind))
    matcher = Matcher([plan], symbols := Symbols())
    batch = JsonLinesDecoder(symbols, [], {}).decode(to_json_lines(STREAM))
    records = [record for matches in matcher.push(batch) for record in matches.records()]
    assert records
    assert all(record.pattern is plan.pattern for record in records)


@pytest.mark.parametrize("kind", TEXTS)
def test_what_a_matcher_would_refuse_is_asked_of_the_native_form(kind: str) -> None:
    assert flaw(Beside(make_plan(kind)), TimeUnit.MILLISECOND, Limits()) is None
