"""A match is in the trace of the edge that ended it, and in no other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from graphtide_core.ids import StreamName
from graphtide_core.match import MatchKind
from graphtide_core.ports.log import Record
from graphtide_core.time import EventTime, TimeUnit
from graphtide_matcher_host.tracing import MOST_SPANS, matching, traceparents
from graphtide_native.match_batch import EncodedMatch
from graphtide_query import parse_subgraphs
from graphtide_testing.telemetry import spans_in_memory
from graphtide_wire import ordered, ordered_body

if TYPE_CHECKING:
    from collections.abc import Iterable

(PATTERN,) = parse_subgraphs("PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10")
BATCH = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def record(ids: str, *traced: ordered.TracedRows) -> Record:
    """Return an ordered record of edges with these ids."""
    columns: dict[str, list[bool | int | float | str | None]] = {
        "ts": list(range(len(ids))),
        **{name: ["v"] * len(ids) for name in ("src", "dst", "label", "src_label", "dst_label")},
        "id": list(ids),
    }
    header = ordered.OrderedHeader(
        first_ts=EventTime(0),
        last_ts=EventTime(len(ids) - 1),
        records=len(ids),
        ordinal=0,
        watermark=EventTime(0),
        unit=TimeUnit.MILLISECOND,
        traceparent=BATCH if traced else None,
        traces=traced,
    )
    message = ordered.encode("ordered", header, ordered_body.encode(columns))
    return Record("ordered", 0, 0, 0, None, message.value, message.headers)


def match(*ids: str) -> EncodedMatch:
    edges = {f"e{number}": id for number, id in enumerate(ids)}
    return EncodedMatch(PATTERN, MatchKind.MATCH, "m" + "".join(ids), 0, json.dumps({"edges": edges, "query": "p"}).encode())


def read_traceparents(of: Record, matches: Iterable[EncodedMatch]) -> list[str | None]:
    header = ordered.header(of.headers)
    with matching(of, header, StreamName("s")):
        return list(traceparents(of, header, list(matches), "matches"))


def test_the_last_edge_decides_also_where_an_earlier_one_is_traced() -> None:
    traced = (ordered.TracedRows(0, 1, BATCH), ordered.TracedRows(2, 2, OTHER))
    found = read_traceparents(record("abcd", *traced), [match("z", "a"), match("a", "b"), match("d", "b"), match("z")])
    assert [each and each.split("-")[1] for each in found] == [BATCH[3:35], None, OTHER[3:35], None]


def test_a_match_goes_on_from_its_record_where_both_are_in_one_trace_and_is_linked_to_it_elsewhere() -> None:
    traced = (ordered.TracedRows(0, 1, BATCH), ordered.TracedRows(1, 1, OTHER))
    with spans_in_memory() as spans:
        found = read_traceparents(record("ab", *traced), [match("z", "a"), match("a", "b")])
        same, other, around = spans.ended()
    assert (around.name, around.parent_id) == ("match ordered", BATCH[36:52])
    assert (same.parent_id, same.links) == (around.span_id, ())
    assert (other.parent_id, other.trace_id, other.links) == (OTHER[36:52], OTHER[3:35], (around.span_id,))
    assert found == [same.traceparent, other.traceparent]
    assert same.attributes["graphtide.match.id"] == "mza"


def test_a_burst_of_matches_makes_no_burst_of_spans_and_all_carry_the_trace() -> None:
    with spans_in_memory() as spans:
        found = read_traceparents(record("a", ordered.TracedRows(0, 1, OTHER)), [match("z", "a")] * (MOST_SPANS + 5))
        assert len(spans.ended()) == MOST_SPANS + 1
    assert found[MOST_SPANS:] == [OTHER] * 5


def test_a_record_without_traces_makes_no_span() -> None:
    with spans_in_memory() as spans:
        assert read_traceparents(record("ab"), [match("a", "b")]) == [None]
        assert spans.ended() == []
