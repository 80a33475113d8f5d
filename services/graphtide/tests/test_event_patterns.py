"""Event patterns in one process: their reports equal the oracle's record by record, however they share a plan."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide.cli.app import app
from graphtide_core.edge import Operation
from graphtide_core.errors import InvalidPatternError, InvalidQueryError, LimitExceededError
from graphtide_core.ids import EdgeId, PatternName
from graphtide_core.match import Completeness, OccurrenceMatch, match_id
from graphtide_core.pattern import Report
from graphtide_native.spec import Limits
from graphtide_testing.oracles.events import EventOracle
from graphtide_testing.strategies.event_patterns import EventPatternShape, event_patterns
from graphtide_testing.strategies.event_streams import EventStreamShape, event_streams
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from graphtide_core.event import Event
    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.match import Match
    from graphtide_testing.oracles.events import Emitted

    Reports = Counter[tuple[object, ...]]

STREAM = EventStreamShape(duplicates=False, negative_ts=False)
PATTERNS = EventPatternShape(stream=STREAM, max_events=3)


def record_of(event: Event) -> dict[str, object]:
    if event.operation is Operation.DELETE:
        return {"ts": event.ts, "op": "delete", "id": event.id}
    given_id = {} if event.made else {"id": event.id}
    return {**event.attributes, "ts": event.ts, "type": event.type, **given_id}


def number_events(stream: Sequence[Event]) -> list[Event]:
    """Events with the ids that are made for those that have none."""
    return [replace(event, id=EdgeId(str(place))) if event.made else event for place, event in enumerate(stream)]


def find(matches: Iterable[Match], patterns: Mapping[str, EventPattern]) -> Reports:
    emitted: Reports = Counter()
    for match in matches:
        assert isinstance(match, OccurrenceMatch)
        events = [(name, (ids,) if isinstance(ids, str) else ids) for name, ids in match.events.items()]
        shown = _show(patterns[match.query], match.kind.value, events)
        emitted[match.query, match.kind.value, match.detected_at, match.count or 1, shown] += 1
    return emitted


def select_reports(emitted: Iterable[tuple[str, Emitted]], patterns: Mapping[str, EventPattern]) -> Reports:
    return Counter(
        (name, each.kind, each.detected_at, each.count, _show(patterns[name], each.kind, each.events)) for name, each in emitted
    )


def _show(pattern: EventPattern, kind: str, events: Iterable[tuple[str, tuple[str, ...]]]) -> tuple[object, ...]:
    """Which of the matches that are counted is shown is the engine's choice."""
    return () if pattern.report is Report.EXISTS and kind != "timeout" else tuple(sorted(events))


@given(
    st.lists(event_patterns(PATTERNS), min_size=1, max_size=4),
    event_streams(STREAM),
    st.sampled_from(("none", "casem", "casem+dce", "spass")),
)
def test_after_every_record_the_reports_equal_the_oracle(
    generated: list[EventPattern], stream: tuple[Event, ...], builder: str
) -> None:
    patterns = {f"p{place}": replace(each, name=PatternName(f"p{place}")) for place, each in enumerate(generated)}
    oracles = {name: EventOracle(pattern) for name, pattern in patterns.items()}
    session = graphtide.Session(list(patterns.values()), graphtide.MatchOptions(builder=builder))
    for event in number_events(stream):
        want = select_reports(((name, emitted) for name, oracle in oracles.items() for emitted in oracle.push(event)), patterns)
        assert find(session.push(record_of(event)), patterns) == want
    want = select_reports(((name, emitted) for name, oracle in oracles.items() for emitted in oracle.finish()), patterns)
    assert find(session.finish(), patterns) == want


def test_events_that_two_branches_have_are_reported_once_under_the_first() -> None:
    text = "PATTERN p SEQ(AND(OR(one:B, other:C), any), last:A) ON s WITHIN 9ms"
    records = [{"ts": ts, "type": kind, "id": f"{kind}{ts}"} for ts, kind in ((1, "C"), (2, "B"), (3, "A"))]
    emitted = [match.events for match in graphtide.match(text, records) if isinstance(match, OccurrenceMatch)]
    assert emitted == [{"one": "B2", "any": "C1", "last": "A3"}]


EDGES = [
    {"ts": 1, "src": "u", "dst": "v", "label": "flow", "id": "e1", "bytes": 10},
    {"ts": 2, "type": "alarm", "id": "r2"},
    {"ts": 3, "src": "v", "dst": "w", "label": "flow", "id": "e3", "bytes": 90},
]


def test_an_edge_is_an_event_of_its_label_with_its_ends_as_attributes() -> None:
    pattern = "PATTERN hop SEQ(one:flow, other:flow) WHERE one.dst = other.src AND other.bytes > one.bytes ON s WITHIN 10ms"
    (match,) = graphtide.match(pattern, EDGES)
    assert isinstance(match, OccurrenceMatch)
    assert match.events == {"one": "e1", "other": "e3"}
    assert (match.first_ts, match.last_ts, match.detected_at) == (1, 3, 3)


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("e.label = 'alarm'", ["r2"]),
        ("e.type = 'flow'", ["e1", "e3"]),
        ("e.src IS NULL", ["r2"]),
        ("e.src_label IS NULL", ["e1", "r2", "e3"]),
    ],
)
def test_what_a_record_says_of_itself_is_read_of_events_and_of_edges(condition: str, found: list[str]) -> None:
    matches = graphtide.match(f"PATTERN p SEQ(e) WHERE {condition} ON s WITHIN 1ms", EDGES)
    assert [match.events["e"] for match in matches if isinstance(match, OccurrenceMatch)] == found


def test_patterns_of_events_and_of_edges_report_in_the_order_of_the_stream() -> None:
    text = """
    PATTERN edges MATCH (u)-[e:flow]->(v) ON s WINDOW 5ms
    PATTERN alarms SEQ(a:alarm, f:flow) ON s WITHIN 5ms
    PATTERN flows SEQ(f:flow, a:alarm) ON s WITHIN 5ms
    """
    emitted = [(match.detected_at, match.query) for match in graphtide.match(text, EDGES)]
    assert emitted == [(1, "edges"), (2, "flows"), (3, "alarms"), (3, "edges")]


def test_forbidden_events_are_settled_by_any_next_record_past_the_bound() -> None:
    session = graphtide.Session("PATTERN quiet SEQ(a:alarm, NOT f:flow) ON s WITHIN 4ms")
    assert session.push({"ts": 2, "type": "alarm", "id": "a"}) == []
    assert session.push({"ts": 6, "type": "other", "id": "b"}) == []
    (match,) = session.push({"ts": 7, "src": "x", "dst": "y", "label": "other", "id": "c"})
    assert match.detected_at == 6


def test_a_count_reports_the_event_that_completes_it() -> None:
    text = "PATTERN p SEQ(a:A, b:B) ON s WITHIN 9ms REPORT EXISTS"
    records = [{"ts": ts, "type": kind, "id": f"{kind}{ts}"} for ts, kind in ((1, "A"), (2, "A"), (3, "B"), (4, "B"))]
    one, other = graphtide.match(text, records)
    (without_the_first,) = graphtide.match(text, records[1:3])
    assert isinstance(one, OccurrenceMatch)
    assert isinstance(without_the_first, OccurrenceMatch)
    assert (one.count, without_the_first.count) == (2, 1)
    # The same event completes them, so it is the same report, with any earlier events.
    assert one.match_id == without_the_first.match_id != other.match_id


def test_records_are_of_the_layout_of_occurrences(tmp_path: Path) -> None:
    pattern, stream = tmp_path / "p.gtp", tmp_path / "s.jsonl"
    pattern.write_text("PATTERN brute SEQ(f:failed{2,}, s:success) PARTITION BY user ON s WITHIN 1m ON TIMEOUT")
    lines = [
        '{"ts":1,"type":"failed","id":"1","user":"eve"}',
        '{"ts":2,"type":"failed","id":"x2","user":"eve"}',
        '{"ts":3,"type":"failed","id":"x3","user":"bob"}',
        '{"ts":4,"type":"success","id":"x4","user":"eve"}',
        '{"ts":5,"type":"failed","id":"x5","user":"bob"}',
    ]
    stream.write_text("\n".join(lines) + "\n")
    done = CliRunner().invoke(app, ["match", str(pattern), str(stream)])
    assert done.exit_code == 0, done.output
    match, timeout = (json.loads(line) for line in done.stdout.splitlines())
    identity = match_id("brute", 1, [("f", "1"), ("f", "x2"), ("s", "x4")])
    assert match == {
        "match_id": identity,
        "query": "brute",
        "kind": "match",
        "detected_at": 4,
        "first_ts": 1,
        "last_ts": 4,
        "events": {"f": ["1", "x2"], "s": "x4"},
    }
    assert (timeout["kind"], timeout["detected_at"], timeout["events"]) == ("timeout", 60_003, {"f": ["x3", "x5"]})


def test_a_deletion_counts_once_for_all_who_held_what_it_deletes(tmp_path: Path) -> None:
    pattern, stream, summary = tmp_path / "p.gtp", tmp_path / "s.jsonl", tmp_path / "summary.json"
    pattern.write_text("PATTERN p SEQ(a:flow) ON s WITHIN 9ms PATTERN q MATCH (a)-[e:flow]->(b)-[f:flow]->(c) ON s WINDOW 9ms")
    lines = [
        '{"ts":1,"src":"u","dst":"v","label":"flow","id":"e"}',
        '{"ts":1,"type":"flow","id":"r"}',
        *(f'{{"ts":2,"op":"delete","id":"{id}"}}' for id in ("e", "r", "r", "other")),
    ]
    stream.write_text("\n".join(lines) + "\n")
    assert CliRunner().invoke(app, ["match", str(pattern), str(stream), "--summary", str(summary)]).exit_code == 0
    assert json.loads(summary.read_text())["deletions"] == 2


def test_a_table_has_a_column_an_event_with_lists_for_iterations() -> None:
    text = "PATTERN p SEQ(a:A+, OR(b:B, c:C)) ON s WITHIN 9ms"
    records = [{"ts": 1, "type": "A", "id": "a1"}, {"ts": 2, "type": "C", "id": "c2"}]
    (row,) = graphtide.match(text, records).to_arrow().to_pylist()
    assert (row["events.a"], row["events.b"], row["events.c"]) == (["a1"], None, "c2")


@pytest.mark.parametrize("policy", ["pause", "shed"])
def test_at_a_limit_a_pattern_says_that_matches_may_be_missing(policy: str) -> None:
    text = "PATTERN p SEQ(a:A+, b:B) ON s WITHIN 1s"
    records = [{"ts": ts, "type": "A", "id": f"a{ts}"} for ts in range(40)]
    session = graphtide.Session(text, graphtide.MatchOptions(limits=Limits(work=100, policy=policy)))
    session.push(records)
    found = session.push({"ts": 50, "type": "B", "id": "b"})
    assert found
    assert all(match.completeness is Completeness.SHED for match in found)
    more = session.push({"ts": 51, "type": "B", "id": "c"})
    assert len(more) > 0 if policy == "shed" else not more


def test_a_limit_under_the_policy_to_fail_ends_the_run() -> None:
    text = "PATTERN p SEQ(a:A+, b:B) ON s WITHIN 1s"
    records = [{"ts": ts, "type": "A" if ts < 40 else "B", "id": f"a{ts}"} for ts in range(41)]
    with pytest.raises(LimitExceededError, match="steps of work"):
        list(graphtide.match(text, records, graphtide.MatchOptions(limits=Limits(work=20))))


@pytest.mark.parametrize(
    ("text", "engine"),
    [("PATTERN p SEQ(a:A, b:B) ON s WITHIN 9ms", "timing"), ("PATTERN p MATCH (a)-[e]->(b) ON s WINDOW 9ms", "aggregation")],
)
def test_an_engine_of_another_family_is_refused(text: str, engine: str) -> None:
    with pytest.raises(InvalidQueryError, match=f"engine {engine} is not for"):
        graphtide.match(text, EDGES, graphtide.MatchOptions(engine=engine))


def test_of_matches_with_one_key_the_first_of_an_interval_is_emitted_and_the_others_are_counted() -> None:
    text = "PATTERN p SEQ(a:A, b:B) WHERE a.x = b.x ON s WITHIN 9ms REPORT ALL ONE PER a.x EVERY 10ms"
    records = [
        {"ts": 10 * interval + place, "type": type, "id": f"{interval}.{place}", "x": x}
        for interval in range(3)
        for place, (type, x) in enumerate((("A", 1), ("A", 1), ("A", 2), ("B", 1), ("B", 2)))
    ]
    found = [each for each in graphtide.match(text, records) if isinstance(each, OccurrenceMatch)]
    assert [(each.detected_at, each.events) for each in found] == [
        (10 * interval + end, {"a": f"{interval}.{begin}", "b": f"{interval}.{end}"})
        for interval in range(3)
        for begin, end in ((0, 3), (2, 4))
    ]


def test_of_matches_that_have_the_same_events_one_is_emitted_if_they_are_to_be_distinct() -> None:
    text = "PATTERN p AND(a:A, b:A, c:A) ON s WITHIN 9ms"
    records = [{"ts": 1, "type": "A", "id": f"a{number}"} for number in (3, 1, 2)]
    assert len(list(graphtide.match(text, records))) == 6
    (emitted,) = graphtide.match(f"{text} REPORT DISTINCT", records)
    assert isinstance(emitted, OccurrenceMatch)
    assert emitted.events == {"a": "a3", "b": "a1", "c": "a2"}
    (counted,) = graphtide.match(f"{text} REPORT DISTINCT EXISTS", records)
    assert isinstance(counted, OccurrenceMatch)
    assert counted.count == 1


def test_an_attribute_that_no_column_has_is_refused(tmp_path: Path) -> None:
    stream = tmp_path / "events.csv"
    stream.write_text("ts,type,id,speed\n1,A,x,5\n")
    with pytest.raises(InvalidPatternError, match="no attribute 'sped'"):
        list(graphtide.match("PATTERN p SEQ(a:A, b:B) WHERE a.sped < 3 ON s WITHIN 9ms", stream))
    with pytest.raises(InvalidPatternError, match="no attribute 'sped'"):
        list(graphtide.match("PATTERN p SEQ(a:A, b:B) RETURN a.type, a.sped + 1 AS more ON s WITHIN 9ms", stream))


def test_explain_draws_the_plan_of_all_patterns_of_a_stream_once() -> None:
    text = """
    PATTERN p SEQ(a:A, b:B, c:C) ON s WITHIN 9ms
    PATTERN q SEQ(a:A, b:B, d:D) ON s WITHIN 9ms
    """
    options = graphtide.MatchOptions(builder="casem")
    shown = graphtide.explain(text, options=options, format="text")
    assert shown.count("event patterns: engine aggregation") == 1
    assert "SEQ(A, B) within 9ms" in shown
    records = [{"ts": 1, "type": "A", "id": "a"}, {"ts": 2, "type": "B", "id": "b"}]
    analyzed = graphtide.explain(text, options=options, analyze=records, format="text")
    assert "actual peak 1" in analyzed
