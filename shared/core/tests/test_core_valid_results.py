"""The results valid at an instant follow from the reports, also if the first reports are missing."""

from __future__ import annotations

import json

from graphtide_core.ids import PatternName, VertexId
from graphtide_core.match import DerivedEdge, IntervalMatch, MatchKind, PathStep, result_id
from graphtide_core.time import EventTime
from graphtide_core.valid_results import ValidResults


def make_match(
    kind: MatchKind, at: int, since: int, until: int | None, target: str = "v", *, path: tuple[PathStep, ...] | None = None
) -> IntervalMatch:
    now, bindings = EventTime(at), {"src": VertexId("u"), "dst": VertexId(target)}
    return IntervalMatch(
        query=PatternName("q"),
        version=1,
        kind=kind,
        detected_at=now,
        first_ts=now,
        last_ts=now,
        label="near",
        bindings=bindings,
        valid=(EventTime(since), None if until is None else EventTime(until)),
        match_id=result_id("q", 1, "near", bindings.values()),
        path=path,
        nth=1,
    )


def valid(at: int, *reports: IntervalMatch) -> list[tuple[str, str, int, int, int | None, bool]]:
    """Return kind, target, time of the first report, interval and whether there is a path."""
    results = ValidResults(EventTime(at))
    for each in reports:
        results.take(each)
    return [(each.kind.value, each.target, each.detected_at, *each.valid, each.path is not None) for each in results.results()]


MATCH = make_match(MatchKind.MATCH, 1, 1, 11)
EXTEND = make_match(MatchKind.EXTEND, 5, 5, 15)
SHORTEN = make_match(MatchKind.RETRACT, 6, 12, 15)
WITHDRAW = make_match(MatchKind.RETRACT, 8, 8, 12)


def test_a_result_is_its_last_report_since_its_match() -> None:
    assert valid(5, MATCH, EXTEND, SHORTEN) == [("match", "v", 1, 1, 15, False)]
    assert valid(7, MATCH, EXTEND, SHORTEN, WITHDRAW) == [("match", "v", 1, 1, 12, False)]
    assert valid(8, MATCH, EXTEND, SHORTEN, WITHDRAW) == []
    # Within the instant of its withdrawal, too.
    again = make_match(MatchKind.MATCH, 8, 8, 18)
    assert valid(9, MATCH, EXTEND, SHORTEN, WITHDRAW, again) == [("match", "v", 8, 8, 18, False)]


def test_what_began_before_anything_was_taken_is_an_extension() -> None:
    assert valid(5, EXTEND) == [("extend", "v", 5, 5, 15, False)]
    assert valid(7, SHORTEN) == [("extend", "v", 6, 6, 12, False)]
    assert valid(7, EXTEND, SHORTEN) == [("extend", "v", 5, 5, 12, False)]
    assert valid(8, WITHDRAW) == []


def test_a_path_holds_until_something_shortens_its_reported_interval() -> None:
    path = make_match(MatchKind.MATCH, 1, 1, 15, path=(DerivedEdge("RL", VertexId("u"), VertexId("v")),))
    assert [found[-1] for found in valid(5, path)] == [True]
    assert [found[-1] for found in valid(7, path, SHORTEN)] == [False]


def test_results_that_have_ended_are_not_kept() -> None:
    results = ValidResults(EventTime(20_000))
    for at in range(20_000):
        results.take(make_match(MatchKind.MATCH, at, at, at + 2, f"v{at}"))
    results.take(make_match(MatchKind.MATCH, 19_999, 19_999, None, "w"))
    assert [each.target for each in results.results()] == ["v19999", "w"]
    assert len(results._known) < 5_000  # noqa: SLF001 - what memory it takes is seen nowhere else


def test_the_record_of_a_result_says_all_of_it() -> None:
    found = make_match(MatchKind.MATCH, 1, 1, None, path=(DerivedEdge("RL", VertexId("u"), VertexId("v")),))
    path = [{"label": "RL", "src": "u", "dst": "v"}]
    assert json.loads(found.to_json()) == {
        "match_id": found.match_id, "query": "q", "kind": "match", "detected_at": 1, "first_ts": 1, "last_ts": 1,
        "src": "u", "dst": "v", "label": "near", "valid": [1, None], "nth": 1, "path": path,
    }  # fmt: skip
