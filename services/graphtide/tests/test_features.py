"""Features of a statement in one process: from files, lists and pipes, of one stream and of several."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import graphtide
import pytest
from graphtide.cli.app import app
from graphtide.counted_features import CountedFeatures
from graphtide_core.errors import InvalidPatternError
from graphtide_core.time import Duration, TimeUnit
from graphtide_native import features as native
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_query import parse_streams
from graphtide_testing.oracles.stream_features import value_of
from graphtide_testing.records import to_csv, to_json_lines
from graphtide_testing.windowed_streams import draw_edges
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from graphtide_core.edge import Edge

STATED: Final = """STREAM flows
FEATURE sent = sum(size) PER src OVER 20ms
FEATURE fan = count(DISTINCT dst) PER src OVER 50ms WHERE size > 1
FEATURE surge = count(*) OVER 5ms AGAINST 60ms
FEATURE before = last(size) PER src OVER 1s EXCLUDE CURRENT
"""
PATTERN: Final = "PATTERN p MATCH (a)-[e]->(b) ON flows WINDOW 1s RETURN e.id AS id, e.sent, e.fan, e.surge, e.before"


def expect(edges: Sequence[Edge], text: str = STATED) -> dict[str, dict[str, Any]]:
    """Return the values of features by the edges' ids."""
    (definition,) = parse_streams(text)
    unit = TimeUnit.MILLISECOND
    return {
        str(edge.id): {f"e.{each.name}": value_of(each, edges[: place + 1], unit) for each in definition.features}
        for place, edge in enumerate(edges)
    }


def found_in(matches: Sequence[Any]) -> dict[str, dict[str, Any]]:
    return {str(each.fields["id"]): {name: value for name, value in each.fields.items() if name != "id"} for each in matches}


@pytest.mark.parametrize("is_csv", [False, True])
@pytest.mark.parametrize("is_shuffled", [False, True])
def test_features_of_a_file_are_those_of_the_oracle(tmp_path: Path, *, is_csv: bool, is_shuffled: bool) -> None:
    edges = draw_edges(1)
    # Edges of equal times keep their order.
    given = [edge for ts in sorted({each.ts for each in edges}, reverse=is_shuffled) for edge in edges if edge.ts == ts]
    file = tmp_path / ("flows.csv" if is_csv else "flows.jsonl")
    file.write_bytes(to_csv(given).encode() if is_csv else to_json_lines(given))
    found = found_in(list(graphtide.match(PATTERN, file, graphtide.MatchOptions(stream=STATED))))
    assert found == expect(edges)


def test_features_read_what_set_states_and_replaced_records_leave(tmp_path: Path) -> None:
    edges = draw_edges(2, 30)
    file = tmp_path / "flows.jsonl"
    again = [json.loads(line) | {"size": 7} for line in to_json_lines(edges[-3:]).splitlines()]
    file.write_bytes(to_json_lines(edges) + b"".join(json.dumps(each).encode() + b"\n" for each in again))
    text = STATED.replace(
        "STREAM flows", "STREAM flows EDGE (src)-[label]->(dst) AT ts ID id SET size = size DUPLICATES update"
    )
    matches = [
        each for each in graphtide.match(PATTERN, file, graphtide.MatchOptions(stream=text)) if each.kind.value == "match"
    ]
    changed = {str(each["id"]): each for each in again}
    sizes = {str(each.id): 7 if str(each.id) in changed else each.attributes["size"] for each in edges}
    last = found_in(matches)[str(edges[-1].id)]
    window = [each for each in edges if each.source == edges[-1].source and edges[-1].ts - each.ts < 20]
    known = [size for each in window if isinstance(size := sizes[str(each.id)], int | float)]
    assert last["e.sent"] == sum(known)


def test_streams_by_name_have_features_of_their_own() -> None:
    edges, others = draw_edges(3), draw_edges(4)
    statements = STATED + "STREAM other FEATURE sent = count(*) OVER 10ms\n"
    counted = CountedFeatures(parse_streams(statements), {"sent"}, TimeUnit.MILLISECOND)
    symbols = Symbols()
    for name, records, text in (("flows", edges, STATED), ("other", others, "STREAM other FEATURE sent = count(*) OVER 10ms")):
        decoder = JsonLinesDecoder(symbols, ("size", "sent"), {}, keep_raw=False)
        rows = counted.add_to(decoder.decode(to_json_lines(records)), None, name).to_records()
        assert {row["id"]: row["attributes"]["sent"] for row in rows} == {
            identity: each["e.sent"] for identity, each in expect(records, text).items()
        }
    assert (counted.names, counted.inputs) == (("sent",), ("size",))


def test_what_no_pattern_reads_is_not_counted() -> None:
    counted = CountedFeatures(parse_streams(STATED), set(), TimeUnit.MILLISECOND)
    batch = JsonLinesDecoder(Symbols(), ("size",), {}, keep_raw=False).decode(to_json_lines(draw_edges(5)))
    assert counted.add_to(batch, None) is batch
    assert counted.names == ()


def test_a_pattern_that_reads_a_feature_is_warned_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text(to_csv(draw_edges(6)))
    (tmp_path / "s.gts").write_text(STATED)
    (tmp_path / "p.gtp").write_text("PATTERN p MATCH (a)-[e]->(b) WHERE e.sent > 1000 ON flows WINDOW 1s\n")
    result = CliRunner().invoke(
        app, ["match", str(tmp_path / "p.gtp"), str(tmp_path / "flows.csv"), "--stream", str(tmp_path / "s.gts")]
    )
    assert (result.exit_code, result.stdout) == (0, "")
    assert "sent" not in result.stderr


def test_windows_that_are_too_long_to_hold_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "MOST_RECORDS", 20)
    monkeypatch.setattr(native.StreamFeatures.__init__, "__defaults__", (None, 20, 20))
    (definition,) = parse_streams("STREAM flows FEATURE n = count(*) OVER 1h")
    counted = CountedFeatures([definition], {"n"}, TimeUnit.MILLISECOND)
    batch = JsonLinesDecoder(Symbols(), ("n",), {}, keep_raw=False).decode(to_json_lines(draw_edges(7)))
    assert max(row["attributes"]["n"] for row in counted.add_to(batch, None).to_records()) == 21
    assert counted.losses() == [
        "40 records of stream flows left the windows of its features early: they hold 20. Shorten OVER, or state WHERE"
    ]
    assert Duration(1, "h") == definition.features[0].longest


def test_a_feature_over_an_attribute_that_is_not_there_is_said(tmp_path: Path) -> None:
    stated = "STREAM flows FEATURE sent = sum(sise) PER src OVER 1m"
    pattern = "PATTERN p MATCH (a)-[e]->(b) WHERE e.sent > 1 ON flows WINDOW 1s"
    options = graphtide.MatchOptions(stream=stated)
    (tmp_path / "flows.csv").write_text(to_csv(draw_edges(8)))
    with pytest.raises(InvalidPatternError, match="feature 'sent': the stream has no attribute 'sise'") as refused:
        list(graphtide.match(pattern, tmp_path / "flows.csv", options))
    assert refused.value.hint == "did you mean size?"
    counted = CountedFeatures(parse_streams(stated), {"sent"}, TimeUnit.MILLISECOND)
    counted.add_to(JsonLinesDecoder(Symbols(), ("sise", "sent"), {}, keep_raw=False).decode(to_json_lines(draw_edges(8))), None)
    assert counted.losses() == ["no record of stream flows had the attribute 'sise', which its windows read"]
