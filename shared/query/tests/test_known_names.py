"""Labels and attributes that a stream never had are reported, with the nearest known name."""

from __future__ import annotations

from graphtide_core.statistics import EdgeType, StatisticsSnapshot
from graphtide_query import parse, parse_subgraphs
from graphtide_query.known_names import AskedNames, SeenNames, lacking_stream


def collect_names(*types: tuple[str | None, str, str | None]) -> SeenNames:
    return SeenNames.of(StatisticsSnapshot(edges=10 * len(types), types={EdgeType(*each): 10 for each in types}))


def ask(match: str) -> AskedNames:
    (pattern,) = parse_subgraphs(f"PATTERN p MATCH {match} ON s WINDOW 1m")
    return AskedNames.of(pattern)


def test_names_that_were_seen_are_not_reported() -> None:
    known = collect_names(("ip", "http", "ip"), ("ip", "ssh", None))
    assert list(known.lacking(ask("(a:ip)-[x:http]->(b)-[y]->(c:ip)"))) == []


def test_labels_never_seen_are_reported_once_each_with_the_nearest_name() -> None:
    known = collect_names(("ip", "http", "ip"), ("ip", "ssh", None))
    assert list(known.lacking(ask("(a:ipp)-[x:htp]->(b)-[y:htp]->(c:ip)<-[z:telnet]-(d)"))) == [
        "no edge of label 'htp' among the last 20 edges; did you mean http?",
        "no edge of label 'telnet' among the last 20 edges",
        "no vertex of label 'ipp' among the last 20 edges; did you mean ip?",
    ]


def test_types_of_events_are_called_so() -> None:
    (pattern,) = parse("PATTERN p SEQ(f:fial, s:success) WHERE f.usr = s.usr ON s WITHIN 1m")
    snapshot = StatisticsSnapshot(edges=20, types={EdgeType(None, each, None): 10 for each in ("fail", "success")})
    assert list(SeenNames.of(snapshot, ["user"]).lacking(AskedNames.of(pattern))) == [
        "no event of type 'fial' among the last 20 events; did you mean fail?",
        "no event with attribute 'usr' among the last 20 events; did you mean user?",
    ]


def test_nothing_is_reported_without_known_names() -> None:
    assert list(collect_names().lacking(ask("(a)-[x:htp]->(b)"))) == []
    assert list(collect_names((None, "", None)).lacking(ask("(a)-[x:htp]->(b)"))) == [], "labels past the table's bound are one"


def test_an_unseen_stream_is_reported_if_another_has_nearly_its_name() -> None:
    assert lacking_stream("flwos", ["flows", "payments"]) == "no edge of stream 'flwos' was seen; did you mean flows?"
    assert lacking_stream("flows", ["flows"]) is None
    assert lacking_stream("other", ["flows"]) is None


def test_attributes_are_reported_if_they_were_counted() -> None:
    snapshot = StatisticsSnapshot(edges=10, types={EdgeType(None, "", None): 10})
    wanted = ask("(a)-[x]->(b) WHERE x.bytes > 1 AND (x.proto = 'tcp' OR x.byts IS NULL) AND a.id = b.id AND x.ts > 1")
    assert wanted.attributes == ("bytes", "proto", "byts")
    assert list(SeenNames.of(snapshot, ["bytes", "flags"]).lacking(wanted)) == [
        "no edge with attribute 'proto' among the last 10 edges",
        "no edge with attribute 'byts' among the last 10 edges; did you mean bytes?",
    ]
    assert list(SeenNames.of(snapshot).lacking(wanted)) == [], "a snapshot of an older release does not say"
    assert list(SeenNames.of(StatisticsSnapshot(), []).lacking(wanted)) == []
