"""What EMIT gives in one process: from files and pipes, of one stream and of several, and among real flows."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import graphtide
import pytest
from graphtide.cli.app import app
from graphtide.counted_features import CountedFeatures
from graphtide.rejections import StreamWarning
from graphtide_core.edge import Edge
from graphtide_core.errors import InvalidPatternError
from graphtide_core.time import TimeUnit
from graphtide_native import features as native
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_query import parse_streams
from graphtide_testing.data import real_stream
from graphtide_testing.oracles.stream_emissions import add_emitted
from graphtide_testing.records import to_csv, to_json_lines
from graphtide_testing.windowed_streams import draw_edges
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

STATED: Final = """STREAM flows
EMIT EDGE (src:host)-[:burst]->(dst) EVERY 20ms SET n = count(*), total = sum(size) HAVING n > 1
EMIT EVENT 'fan' PER src AS host EVERY 50ms SET hosts = count(DISTINCT dst) WHERE size > 1
"""
BURSTS: Final = "PATTERN p MATCH (a)-[e:burst]->(b) ON flows WINDOW 1s RETURN e.id AS id, e.n, e.total"
FANS: Final = "PATTERN q SEQ(f:fan) ON flows WITHIN 1s RETURN f.id AS id, f.host AS host, f.hosts AS hosts"


def expect(edges: Sequence[Edge], label: str, text: str = STATED) -> dict[str, dict[str, Any]]:
    """Return the attributes of what is given, by its ids."""
    (definition,) = parse_streams(text)
    given = add_emitted(definition.emissions, edges, TimeUnit.MILLISECOND)
    return {str(each.id): dict(each.attributes) for each in given if each.id.startswith(f"emit:{label}:")}


def found_in(matches: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """Return what patterns returned, by ids."""
    fields = [dict(each.fields) for each in matches]
    return {str(each.pop("id")): {name.removeprefix("e."): value for name, value in each.items()} for each in fields}


@pytest.mark.parametrize("is_csv", [False, True])
def test_what_a_file_gives_is_what_the_oracle_gives(tmp_path: Path, *, is_csv: bool) -> None:
    edges = draw_edges(1)
    file = tmp_path / ("flows.csv" if is_csv else "flows.jsonl")
    file.write_bytes(to_csv(edges).encode() if is_csv else to_json_lines(edges))
    options = graphtide.MatchOptions(stream=STATED)
    found = found_in(list(graphtide.match(BURSTS, file, options)))
    assert found == expect(edges, "burst")
    assert len(found) > 5
    assert found_in(list(graphtide.match(FANS, file, options))) == expect(edges, "fan")


def test_given_edges_and_records_match_together(tmp_path: Path) -> None:
    edges = draw_edges(2)
    file = tmp_path / "flows.jsonl"
    file.write_bytes(to_json_lines(edges))
    pattern = (
        "PATTERN p MATCH (a)-[e:burst]->(b), (a)-[x:x]->(b) ORDER e < x ON flows WINDOW 10ms RETURN e.id AS burst, x.id AS next"
    )
    (definition,) = parse_streams(STATED)
    stream = [each for each in add_emitted(definition.emissions, edges, TimeUnit.MILLISECOND) if isinstance(each, Edge)]
    expected = sorted(
        (burst.id, each.id)
        for place, burst in enumerate(stream)
        for each in stream[place + 1 :]
        if (burst.label, each.label) == ("burst", "x")
        and (burst.source, burst.target) == (each.source, each.target)
        and burst.ts < each.ts < burst.ts + 10
    )
    found = [each.fields for each in graphtide.match(pattern, file, graphtide.MatchOptions(stream=STATED))]
    assert sorted((each["burst"], each["next"]) for each in found) == expected
    assert expected


def test_a_dropped_duplicate_lets_time_pass(tmp_path: Path) -> None:
    records = [
        {"ts": ts, "src": "a", "dst": "b", "label": "x", "size": 2, "id": name} for ts, name in ((1, "i"), (2, "j"), (25, "i"))
    ]
    file = tmp_path / "flows.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in records))
    with pytest.warns(StreamWarning, match="dropped as a duplicate"):
        (found,) = graphtide.match(BURSTS, file, graphtide.MatchOptions(stream=STATED))
    assert found.fields["e.n"] == 2


def test_streams_by_name_give_by_statements_of_their_own() -> None:
    other = "STREAM other EMIT EDGE (src)-[:burst]->(dst) EVERY 10ms SET n = count(*)"
    counted = CountedFeatures(parse_streams(f"{STATED}{other}\n"), {"n", "size"}, TimeUnit.MILLISECOND)
    symbols = Symbols()
    for name, edges, text in (("flows", draw_edges(3), STATED), ("other", draw_edges(4), other)):
        decoder = JsonLinesDecoder(symbols, ("size", "n"), {}, keep_raw=False)
        rows = counted.add_to(decoder.decode(to_json_lines(edges)), edges[-1].ts, name).to_records()
        found = {row["id"]: row["attributes"]["n"] for row in rows if row["id"].startswith("emit:burst:")}
        assert found == {identity: each["n"] for identity, each in expect(edges, "burst", text).items()}
    assert counted.labels == ("burst", "host", "fan")


def test_a_pattern_over_what_is_given_is_warned_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text(to_csv(draw_edges(6)))
    (tmp_path / "s.gts").write_text(STATED)
    (tmp_path / "p.gtp").write_text("PATTERN p MATCH (a:host)-[e:burst]->(b) WHERE e.n > 1000 ON flows WINDOW 1s\n")
    result = CliRunner().invoke(
        app, ["match", str(tmp_path / "p.gtp"), str(tmp_path / "flows.csv"), "--stream", str(tmp_path / "s.gts")]
    )
    assert (result.exit_code, result.stdout) == (0, "")
    assert not {"burst", "host", "attribute"} & set(result.stderr.replace("'", " ").split())


def test_what_is_given_is_known_to_validate_and_counted_by_statistics(tmp_path: Path) -> None:
    edges = draw_edges(9)
    (tmp_path / "flows.csv").write_text(to_csv(edges))
    (tmp_path / "s.gts").write_text(STATED)
    (tmp_path / "p.gtp").write_text(
        "PATTERN p MATCH (a:host)-[e:burst]->(b) WHERE e.n > 2 AND e.total > 1 ON flows WINDOW 1s\n"
    )
    flows, statement = str(tmp_path / "flows.csv"), str(tmp_path / "s.gts")
    valid = CliRunner().invoke(app, ["validate", str(tmp_path / "p.gtp"), "--stream", flows, "--definition", statement])
    assert (valid.exit_code, "note" in valid.stderr) == (0, False), valid.output
    counted = CliRunner().invoke(app, ["statistics", flows, "--stream", statement, "--format", "json"])
    assert counted.exit_code == 0, counted.output
    types = {(source, label): count for source, label, *_, count in json.loads(counted.stdout)["types"]}
    bursts, fans = len(expect(edges, "burst")), len(expect(edges, "fan"))
    assert types == {(None, "x"): len(edges), ("host", "burst"): bursts, (None, "fan"): fans}


def test_windows_with_too_many_keys_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native.StreamFeatures.__init__, "__defaults__", (None, native.MOST_RECORDS, 1))
    (definition,) = parse_streams("STREAM flows EMIT EDGE (src)-[:burst]->(dst) EVERY 1h SET n = count(*)")
    counted = CountedFeatures([definition], {"n"}, TimeUnit.MILLISECOND)
    edges = draw_edges(7)
    counted.add_to(JsonLinesDecoder(Symbols(), ("n",), {}, keep_raw=False).decode(to_json_lines(edges)), None)
    others = sum((each.source, each.target) != (edges[0].source, edges[0].target) for each in edges)
    assert counted.losses() == [
        f"{others} records of stream flows are in no window of EMIT, which had too many keys or records. "
        "Shorten EVERY, or state WHERE"
    ]


def test_an_attribute_that_is_not_there_is_said(tmp_path: Path) -> None:
    stated = "STREAM flows EMIT EDGE (src)-[:burst]->(dst) EVERY 1s SET n = sum(sise)"
    (tmp_path / "flows.csv").write_text(to_csv(draw_edges(8)))
    with pytest.raises(InvalidPatternError, match="EMIT 'burst': the stream has no attribute 'sise'") as refused:
        list(graphtide.match(BURSTS, tmp_path / "flows.csv", graphtide.MatchOptions(stream=stated)))
    assert "size" in str(refused.value)


def flows() -> list[dict[str, str]]:
    """Return a day of flows of an infected device, with which of them are malicious."""
    with gzip.open(real_stream("iot23_34_1.csv.gz"), "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_beacon_among_real_flows_is_one_edge_an_hour(tmp_path: Path) -> None:
    records = flows()
    file = tmp_path / "flows.csv"
    with file.open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    stated = (
        "STREAM flows EMIT EDGE (src)-[:beacon]->(dst) PER dst_port EVERY 1h SET calls = count(*), truth = last(truth_detail) "
        "HAVING calls >= 200"
    )
    pattern = "PATTERN beacon MATCH (a)-[e:beacon]->(b) ON flows WINDOW 1m RETURN e.calls AS calls, e.truth AS truth"
    found = [each.fields for each in graphtide.match(pattern, file, graphtide.MatchOptions(stream=stated))]
    hour = 3_600_000
    newest = max(int(each["ts"]) for each in records)
    counted = Counter((int(each["ts"]) // hour, each["src"], each["dst"], each["dst_port"]) for each in records)
    expected = [count for (window, *_), count in counted.items() if count >= 200 and (window + 1) * hour <= newest]
    assert Counter(each["calls"] for each in found) == Counter(expected)
    assert "C&C" in {each["truth"] for each in found}
