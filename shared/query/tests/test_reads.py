"""What a pattern reads of its stream."""

import graphtide_query
import pytest
from graphtide_core.ids import StreamName
from graphtide_core.reads import Lookback, Reads
from graphtide_core.time import MAX_EVENT_TIME, Duration, TimeUnit
from graphtide_core.window import EdgeCount
from graphtide_query.reads import match_lookback, reads_of

FLOWS = StreamName("flows")


def reads(text: str) -> Reads:
    (pattern,) = graphtide_query.parse_subgraphs(f"PATTERN p MATCH {text}")
    return reads_of(pattern)


def test_labels_and_attributes_come_once_each_in_order() -> None:
    text = """(a)-[x:tls]->(b)-[y:dns]->(c)-[z:tls]->(d)
              WHERE x.port = 1 AND y.bytes > x.bytes ON flows WINDOW 10m"""
    assert reads(text) == Reads((FLOWS,), Lookback(Duration(10, "m")), ("dns", "tls"), ("bytes", "port"))


def test_one_edge_without_a_label_reads_those_of_every_label() -> None:
    assert reads("(a)-[x:tls]->(b)-[y]->(c) ON flows WINDOW 10").labels is None


def test_ends_and_fields_of_records_are_no_attributes() -> None:
    text = "(a)-[x:k]->(b) WHERE a.id = 'v' AND x.ts > 5 AND x.src_label = 'ip' ON flows WINDOW 10"
    assert reads(text).attributes == ()


@pytest.mark.parametrize("under", ["", "UNDER DUAL SIMULATION"])
@pytest.mark.parametrize("window", ["10m", "1500ms", "7"])
@pytest.mark.parametrize("unit", TimeUnit)
def test_a_lookback_is_the_pattern_s_own_in_every_unit(window: str, under: str, unit: TimeUnit) -> None:
    (pattern,) = graphtide_query.parse_subgraphs(f"PATTERN p MATCH (a)-[x:k]->(b) {under} ON flows WINDOW {window}")
    assert reads_of(pattern).lookback.ticks(unit) == pattern.lookback(unit)


def test_a_lookback_is_no_longer_than_times_can_be_apart() -> None:
    window = reads("(a)-[x:k]->(b) ON flows WINDOW 9223372036854775807w")
    assert window.lookback.ticks(TimeUnit.NANOSECOND) == MAX_EVENT_TIME


@pytest.mark.parametrize("under", ["", "UNDER DUAL SIMULATION"])
def test_where_edges_are_counted_those_of_every_label_are_read(under: str) -> None:
    text = f"(a)-[x:k]->(b) WHERE x.bytes > 1 {under} ON flows WINDOW 500 EDGES"
    assert reads(text) == Reads((FLOWS,), Lookback(EdgeCount(500)), None, ("bytes",))
    assert (reads(text).lookback.edges, reads(text).lookback.ticks(TimeUnit.NANOSECOND)) == (500, 0)


@pytest.mark.parametrize(
    ("windows", "unit", "ticks"),
    [
        (("WINDOW(10)", "WINDOW(7) SLIDE(3)"), TimeUnit.MILLISECOND, 11),
        (("WINDOW(NOW)", "WINDOW(NOW)"), TimeUnit.MILLISECOND, 2),
        (("WINDOW(2500us)", "WINDOW(NOW)"), TimeUnit.MILLISECOND, 4),
        (("WINDOW(10ms)", "WINDOW(1s)"), TimeUnit.MICROSECOND, 1_000_001),
    ],
)
def test_of_a_graph_query_what_ends_at_this_instant_has_a_say(windows: tuple[str, str], unit: TimeUnit, ticks: int) -> None:
    one, other = windows
    text = f"CONSTRUCT (u)-[:r]->(w) MATCH (u)-[:a]->(v) ON flows {one} MATCH (v)-[:b]->(w) ON flows {other}"
    (query,) = graphtide_query.parse(text)
    assert match_lookback(query, unit) == ticks
