"""Streaming graph queries over several streams: read as one in order of time, each record known by its stream."""

from __future__ import annotations

import json
import random
import warnings
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide.cli.app import app
from graphtide_core.errors import InvalidPatternError, InvalidQueryError
from graphtide_core.match import IntervalMatch
from graphtide_core.stream_window import WindowKind
from graphtide_testing.graph_results import find_expected, sort_matches
from graphtide_testing.oracles.graph_queries import GraphQueryOracle
from graphtide_testing.records import to_json_lines
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import StreamShape, edge_streams, random_stream
from graphtide_testing.strategies.graph_queries import GraphQueryShape, graph_queries, random_graph_query
from hypothesis import given
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

    from graphtide_core.edge import Edge
    from graphtide_core.graph_query import GraphQuery
    from typer.testing import Result

SHAPE = GraphQueryShape(streams=("one", "other"), kinds=(WindowKind.EXTERNAL, WindowKind.INTERNAL, WindowKind.NOW), paths=False)
STREAM = StreamShape(labels=("a", "b", "c"), vertices=4, negative_ts=False, max_records=14)

FIGURE_7 = """
GRAPH VIEW rec_stream AS (
CONSTRUCT (u1) -[:recommendation]-> (p)
MATCH (u1)
  OPTIONAL (u1)-[:follows]->(u2)
  OPTIONAL (u1)-[:likes]->(m)<-[:posts]-(u2)
ON social_stream WINDOW(24 hours)
MATCH (c) -[:purchase]->(p)
ON tx_stream WINDOW(30d) SLIDE(1d)
WHERE (u2) = (c) )
"""
SOCIAL = [
    {"ts": 10, "src": "ann", "dst": "bob", "label": "follows"},
    {"ts": 20, "src": "bob", "dst": "m1", "label": "posts"},
    {"ts": 30, "src": "cem", "dst": "m1", "label": "likes"},
    {"ts": 86_400_020, "src": "dan", "dst": "bob", "label": "follows"},
]
PURCHASES = [
    {"ts": 5, "src": "bob", "dst": "book", "label": "purchase"},
    {"ts": 86_400_005, "src": "ann", "dst": "lamp", "label": "purchase"},
]


def records(edges: tuple[Edge, ...]) -> list[dict[str, object]]:
    return [json.loads(line) for line in to_json_lines(edges).splitlines()]


def check(query: GraphQuery, one: tuple[Edge, ...], other: tuple[Edge, ...]) -> int:
    """Compare what each record brings about; return how much that is."""
    oracle = GraphQueryOracle(query)
    streams = {name: edges for name, edges in (("one", one), ("other", other)) if name in query.streams}
    with warnings.catch_warnings():
        warnings.simplefilter("error", graphtide.StreamWarning)
        warnings.simplefilter("ignore", graphtide.DuplicateWarning)
        found = list(graphtide.match(query, graphtide.Inputs(**{name: records(edges) for name, edges in streams.items()})))
    merged = sorted((int(edge.ts), name, place) for name, edges in streams.items() for place, edge in enumerate(edges))
    emitted = [oracle.push(streams[name][place], name) for _, name, place in merged]
    start = 0
    for each in emitted:
        assert sort_matches(found[start : start + len(each)]) == find_expected(query, each)
        start += len(each)
    assert start == len(found)
    return len(found)


@given(query=graph_queries(SHAPE), one=edge_streams(STREAM), other=edge_streams(STREAM))
def test_merged_streams_are_answered_as_the_oracle_does(
    query: GraphQuery, one: tuple[Edge, ...], other: tuple[Edge, ...]
) -> None:
    check(query, one, other)


def test_many_random_queries_over_two_streams() -> None:
    emitted = of_both = 0
    for seed in seeds(90):
        rng = random.Random(seed)
        query = random_graph_query(rng, SHAPE)
        found = check(query, random_stream(rng, STREAM), random_stream(rng, STREAM))
        emitted += found
        of_both += found if len(query.streams) == 2 else 0
    assert emitted > 90
    assert of_both > 20, "cases must have results of several streams"


def test_the_recommendations_of_figure_7() -> None:
    found = list(graphtide.match(FIGURE_7, graphtide.Inputs(social_stream=SOCIAL, tx_stream=PURCHASES)))
    assert [(each.source, each.target, each.valid) for each in found if isinstance(each, IntervalMatch)] == [
        ("ann", "book", (10, 86_400_010)),
        ("cem", "book", (30, 86_400_020)),
        ("dan", "book", (86_400_020, 172_800_020)),
    ]


def test_ties_go_by_the_names_of_streams_and_ids_are_of_their_streams() -> None:
    text = """QUERY q
    INPUT a = ()-[:a]->() ON one WINDOW(10)
    INPUT b = ()-[:b]->() ON other WINDOW(10)
    Answer(x, z) <- a(x, y), b(y, z)."""
    one = [{"ts": 1, "src": "x", "dst": "y", "label": "a", "id": "7"}, {"ts": 4, "op": "delete", "id": "7"}]
    other = [
        {"ts": 1, "src": "y", "dst": "z", "label": "b", "id": "7"},
        {"ts": 2, "src": "y", "dst": "w", "label": "a", "id": "8"},
        {"ts": 3, "src": "y", "dst": "z", "label": "b", "id": "7"},
    ]
    found = list(graphtide.match(text, graphtide.Inputs(other=other, one=one)))
    assert [(each.kind.value, each.detected_at) for each in found] == [("match", 1), ("retract", 4)]
    batch = graphtide.Session(text).run(graphtide.Inputs(one=one, other=other))
    assert next(batch).match_id == found[0].match_id


def test_late_records_are_those_of_their_own_streams() -> None:
    text = "INPUT a = ()-[:a]->() ON one WINDOW(10) INPUT b = ()-[:b]->() ON other WINDOW(10) Answer(x, z) <- a(x, y), b(y, z)."
    one = [{"ts": ts, "src": "x", "dst": "y", "label": "a"} for ts in (5, 3, 9)]
    other = [{"ts": 1, "src": "y", "dst": "z", "label": "b"}]
    matches = graphtide.match("QUERY q " + text, graphtide.Inputs(one=one, other=other))
    with pytest.warns(graphtide.StreamWarning, match="1 of 4 records was rejected"):
        assert [each.detected_at for each in matches] == [5]
    (letter,) = matches.take_dead_letters()
    assert "stream one" in letter.reason
    options = graphtide.MatchOptions(lateness=graphtide.Duration(5))
    matches = graphtide.match("QUERY q " + text, graphtide.Inputs(one=one, other=other), options)
    assert [each.detected_at for each in matches] == [3]


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (
            [{"ts": 1, "src": "a", "dst": "b", "label": "follows"}],
            r"reads 2 streams: give graphtide.Inputs\(social_stream=…, tx_",
        ),
        (graphtide.Inputs(social_stream=SOCIAL), "stream 'tx_stream' is missing"),
        (graphtide.Inputs(social_stream=SOCIAL, tx_stream=PURCHASES, news=[]), "no query reads a stream 'news'"),
    ],
)
def test_other_streams_than_queries_read_are_refused(inputs: object, said: str) -> None:
    with pytest.raises(InvalidQueryError, match=said):
        graphtide.match(FIGURE_7, inputs)


def test_what_is_not_streams_by_name_is_refused() -> None:
    with pytest.raises(ValueError, match="1 to 64 streams"):
        graphtide.Inputs()
    with pytest.raises(TypeError, match="'a' is given twice"):
        graphtide.Inputs({"a": []}, a=[])
    with pytest.raises(TypeError, match=r"give them to run\(\)"):
        graphtide.Session(FIGURE_7).push(graphtide.Inputs(social_stream=[], tx_stream=[]))
    with pytest.raises(InvalidQueryError, match="only streaming graph queries do"):
        graphtide.match("PATTERN p MATCH (a)-[:x]->(b) ON s WINDOW 1", graphtide.Inputs(s=[]))
    both = FIGURE_7 + "QUERY q likes(x, y) <- recommendation(x, y). ON rec_stream WINDOW(1h)"
    with pytest.raises(InvalidQueryError, match="reads the view 'rec_stream'"):
        graphtide.match(both, graphtide.Inputs(social_stream=[], tx_stream=[]))


def test_an_attribute_is_looked_for_in_its_own_stream(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("ts,src,dst,label,n\n1,x,y,a,5\n")
    (tmp_path / "other.csv").write_text("ts,src,dst,label\n2,y,z,b\n")
    text = """QUERY q
    INPUT a = ()-[e:a]->() ON one WINDOW(10) WHERE e.n > 3
    INPUT b = ()-[:b]->() ON other WINDOW(10)
    Answer(x, z) <- a(x, y), b(y, z)."""
    files = graphtide.Inputs(one=tmp_path / "one.csv", other=tmp_path / "other.csv")
    assert len(list(graphtide.match(text, files))) == 1
    with pytest.raises(InvalidPatternError, match="stream 'other' has no attribute 'n'"):
        list(
            graphtide.match(
                text.replace("[:b]", "[e:b]").replace("WINDOW(10)\n    Ans", "WINDOW(10) WHERE e.n > 3\n    Ans"), files
            )
        )


# ---- on the command line


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "q.gtp").write_text(FIGURE_7)
    for name, rows in (("social", SOCIAL), ("tx", PURCHASES)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False, env={"COLUMNS": "300"})


def test_match_reads_streams_by_name(files: Path) -> None:
    result = run(
        "match",
        files / "q.gtp",
        "--input",
        f"tx_stream={files / 'tx.jsonl'}",
        "--input",
        f"social_stream={files / 'social.jsonl'}",
        "--summary",
        files / "summary.json",
    )
    assert result.exit_code == 0, result.output
    assert [json.loads(line)["src"] for line in result.stdout.splitlines()] == ["ann", "cem", "dan"]
    assert json.loads((files / "summary.json").read_text())["read"] == 6


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["social.jsonl"], "give --input social_stream=FILE --input tx_stream=FILE"),
        ([], "give --input social_stream=FILE --input tx_stream=FILE"),
        (
            ["--input", "social_stream=social.jsonl"],
            "stream 'tx_stream' is missing: give --input social_stream=FILE --input tx",
        ),
        (["--input", "x=a", "--input", "social_stream=b", "--input", "tx_stream=c"], "no query reads a stream 'x'"),
        (["--input", "tx_stream=a", "--input", "tx_stream=b"], "stream 'tx_stream' is given twice: a and b"),
        (["social.jsonl", "--input", "tx_stream=a"], "leave 'social.jsonl' out, or give it as --input NAME=social.jsonl"),
        (["--input", "tx_stream"], "'tx_stream' is not NAME=FILE"),
        (["--input", "social_stream=-", "--input", "tx_stream=-"], "standard input is one stream"),
    ],
)
def test_streams_that_are_not_what_queries_read_are_refused(
    files: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(files)
    result = run("match", "q.gtp", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_explain_shows_what_was_seen_of_streams_by_name(files: Path) -> None:
    named = ["--input", f"tx_stream={files / 'tx.jsonl'}", "--input", f"social_stream={files / 'social.jsonl'}"]
    result = run("explain", files / "q.gtp", *named, "--format", "json")
    assert result.exit_code == 0, result.output
    (emitted,) = json.loads(result.stdout)
    assert emitted["counts"]["matches"] == 3
    assert (
        emitted
        == json.loads(
            graphtide.explain(FIGURE_7, analyze=graphtide.Inputs(social_stream=SOCIAL, tx_stream=PURCHASES), format="json")
        )[0]
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--analyze", "social.jsonl"], "give --input social_stream=FILE --input tx_stream=FILE"),
        (["--input", "social_stream=social.jsonl"], "stream 'tx_stream' is missing: give --input social_stream=FILE"),
        (
            ["--analyze", "social.jsonl", "--input", "tx_stream=tx.jsonl"],
            "for --analyze: streams are given by name",
        ),
        (
            ["--input", "social_stream=social.jsonl", "--input", "tx_stream=tx.jsonl", "--dead-letters", "tx.jsonl"],
            "tx.jsonl is given as --input tx_stream=tx.jsonl too",
        ),
    ],
)
def test_streams_that_are_not_what_queries_read_are_not_analyzed(
    files: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(files)
    before = (files / "tx.jsonl").read_bytes()
    result = run("explain", "q.gtp", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert (files / "tx.jsonl").read_bytes() == before


def test_one_stream_is_not_analyzed_as_several() -> None:
    with pytest.raises(InvalidQueryError, match=r"reads 2 streams: give graphtide.Inputs\(social_stream=…, tx_"):
        graphtide.explain(FIGURE_7, analyze=SOCIAL)


def test_bad_records_of_streams_that_are_analyzed_are_kept_with_their_streams(files: Path) -> None:
    with (files / "tx.jsonl").open("a") as stream:
        stream.write("not JSON\n")
    named = ["--input", f"tx_stream={files / 'tx.jsonl'}", "--input", f"social_stream={files / 'social.jsonl'}"]
    result = run("explain", files / "q.gtp", *named, "--dead-letters", files / "letters.jsonl")
    assert result.exit_code == 5, result.output
    (letter,) = map(json.loads, (files / "letters.jsonl").read_text().splitlines())
    assert letter["reason"].startswith("stream tx_stream: ")
    assert "1 of 7 records was rejected" in result.stderr
