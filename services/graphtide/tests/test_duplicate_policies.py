"""What becomes of a record under an id that came before: it is dropped, in the place of the one before, or ends the run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from graphtide import Inputs, MatchOptions, UnreadableStreamError, match
from graphtide.cli.app import app
from graphtide_core.match import IntervalMatch
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

Record = dict[str, Any]

PATTERNS = {
    "isomorphism": "PATTERN p MATCH (a)-[x:e]->(b)-[y:e]->(c) ORDER x < y WHERE x.n <= y.n ON s WINDOW 6",
    "dual simulation": "PATTERN p MATCH (a)-[x:e]->(b)-[y:e]->(a) ON s UNDER DUAL SIMULATION WINDOW 6 REPORT CHANGES",
    "events": "PATTERN p SEQ(x:e, y:e) WHERE x.n <= y.n ON s WITHIN 6",
    "graph query": "QUERY q INPUT e = ()-[:e]->() ON s WINDOW(6) Answer(x, z) <- e(x, y), e(y, z).",
}

records = st.lists(
    st.fixed_dictionaries(
        {
            "step": st.integers(0, 3),
            "src": st.sampled_from("ab"),
            "dst": st.sampled_from("abc"),
            "id": st.sampled_from(["1", "2", "x", None]),
            "n": st.integers(0, 2),
            "op": st.sampled_from(["insert", "insert", "insert", "delete"]),
        }
    ),
    max_size=12,
)


def put_in_time(drawn: list[Record]) -> list[Record]:
    """Return records in order of time; one without an id is an insert."""
    found, ts = [], 0
    for each in drawn:
        ts += each["step"]
        record = {name: value for name, value in each.items() if name != "step" and value is not None}
        found.append({"ts": ts, "label": "e", **record, "op": each["op"] if each["id"] is not None else "insert"})
    return found


def write_out(given: list[Record]) -> tuple[list[Record], int]:
    """Return the same with a deletion before each insert under an id that an earlier insert has, and how many they are."""
    found, alive, added = list[Record](), set[str](), 0
    for each in given:
        identity = each.get("id")
        if identity is not None and each["op"] == "insert" and identity in alive:
            found.append({"ts": each["ts"], "id": identity, "op": "delete"})
            added += 1
        if identity is not None:
            (alive.discard if each["op"] == "delete" else alive.add)(identity)
        found.append(each)
    return found, added


@pytest.mark.parametrize("family", PATTERNS)
@given(drawn=records)
def test_an_update_is_a_deletion_and_an_insert(family: str, drawn: list[Record]) -> None:
    stream = put_in_time(drawn)
    written_out, added = write_out(stream)
    expected = [str(each) for each in match(PATTERNS[family], written_out)]
    updating = match(PATTERNS[family], stream, MatchOptions(duplicates="update"))
    found = [str(each) for each in updating]
    # Without ids of their own records have ordinals, which deletions that are written out move.
    if all("id" in each for each in stream):
        assert found == expected
    else:
        assert len(found) == len(expected)
    # An id that has left the window is new again.
    assert updating.summary().replaced <= added
    if stream and stream[-1]["ts"] < 6:
        assert updating.summary().replaced == added
    assert updating.summary().duplicates == 0


def test_an_error_names_the_first_repeated_id() -> None:
    stream = [{"ts": ts, "src": "a", "dst": "b", "label": "e", "id": name} for ts, name in enumerate(["k", "l", "k", "l"])]
    with pytest.raises(UnreadableStreamError, match="record 3 has the id 'k', which came before in the window"):
        list(match(PATTERNS["isomorphism"], stream, MatchOptions(duplicates="error")))
    assert list(match(PATTERNS["isomorphism"], stream[:2], MatchOptions(duplicates="error"))) == []


def test_each_of_several_streams_has_its_policy() -> None:
    query = """QUERY q INPUT f = ()-[:f]->() ON one WINDOW(1h) INPUT g = ()-[:g]->() ON two WINDOW(1h)
    Answer(x, z) <- f(x, y), g(y, z)."""
    statements = """STREAM one EDGE (s)-[:f]->(d) AT t ID k DUPLICATES update
STREAM two EDGE (s)-[:g]->(d) AT t ID k"""
    one = [{"t": 1, "s": "a", "d": "b", "k": "1"}, {"t": 2, "s": "a", "d": "z", "k": "1"}]
    two = [
        {"t": 3, "s": "b", "d": "c", "k": "1"},
        {"t": 4, "s": "z", "d": "c", "k": "2"},
        {"t": 5, "s": "z", "d": "y", "k": "2"},
    ]
    found = match(query, Inputs(one=one, two=two), MatchOptions(stream=statements))
    results = [each for each in found if isinstance(each, IntervalMatch)]
    assert [(each.detected_at, each.source, each.target) for each in results] == [(4, "a", "c")]
    assert (found.summary().replaced, found.summary().duplicates) == (1, 1)


def test_a_statement_and_an_option_may_not_differ() -> None:
    statement = "STREAM s EDGE (a)-[:x]->(b) AT t ID k DUPLICATES update"
    assert MatchOptions(stream=statement).duplicates.value == "update"
    with pytest.raises(ValueError, match="duplicates: STREAM s says DUPLICATES update, not error; leave the option out"):
        MatchOptions(stream=statement, duplicates="error")
    with pytest.raises(ValueError, match="duplicates: there is no policy for duplicates 'replace'"):
        MatchOptions(duplicates="replace")


def test_the_command_line_takes_the_policy(tmp_path: Path) -> None:
    (tmp_path / "p.gtp").write_text("PATTERN p MATCH (a)-[x:e]->(b) ON s WHERE x.n > 1 WINDOW 1h\n")
    (tmp_path / "s.csv").write_text("ts,src,dst,label,id,n\n1,a,b,e,k,2\n2,a,b,e,k,1\n3,a,b,e,k,5\n")
    runner = CliRunner()
    arguments = ["match", str(tmp_path / "p.gtp"), str(tmp_path / "s.csv")]
    updated = runner.invoke(app, [*arguments, "--duplicates", "update", "--summary", str(tmp_path / "summary.json")])
    assert updated.exit_code == 0, updated.output
    kinds = [(each["kind"], each["detected_at"]) for each in map(json.loads, updated.stdout.splitlines())]
    assert kinds == [("match", 1), ("retract", 2), ("match", 3)]
    assert json.loads((tmp_path / "summary.json").read_text())["replaced"] == 2
    ended = runner.invoke(app, [*arguments, "--duplicates", "error"])
    assert ended.exit_code == 3
    assert "record 2 has the id 'k', which came before in the window" in ended.stderr
    refused = runner.invoke(app, [*arguments, "--duplicates", "maybe"])
    assert refused.exit_code == 2
