"""What RETURN asks for comes with each match, in records and in tables, through the embedded runtime."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide.cli.app import app
from graphtide_core.match import OccurrenceMatch
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

LOGINS = [
    {"ts": 1, "type": "failed", "id": "f1", "user": "ann", "address": "10.0.0.7", "score": 2},
    {"ts": 2, "type": "failed", "id": "f2", "user": "ann", "score": 0.5},
    {"ts": 5, "type": "success", "id": "s5", "user": "ann", "address": "10.0.0.9", "known": False},
]


def test_a_match_has_what_its_pattern_returns_in_the_order_of_the_text() -> None:
    text = """
    PATTERN guessed SEQ(f:failed{2,}, s:success) PARTITION BY user ON logins WITHIN 9ms
    RETURN s.user AS victim, f.address AS addresses, count(f.address), sum(f.score) AS total, s.ts - first(f.ts) AS took,
           last(f.id), s.known, s.score, (s.ts > 4) AS late
    """
    (match,) = graphtide.match(text, LOGINS)
    assert isinstance(match, OccurrenceMatch)
    wanted = {
        "victim": "ann",
        "addresses": ("10.0.0.7", None),
        "count(f.address)": 1,
        "total": 2.5,
        "took": 4,
        "last(f.id)": "f2",
        "s.known": False,
        "s.score": None,
        "late": True,
    }
    assert list(match.fields.items()) == list(wanted.items())


def test_everything_is_the_time_the_type_and_what_the_pattern_reads_of_each_event() -> None:
    text = """
    PATTERN p SEQ(f:failed{2}, s:success) WHERE s.known = FALSE PARTITION BY user ON logins WITHIN 9ms
    RETURN f.score AS `f.user`, *
    """
    (match,) = graphtide.match(text, LOGINS)
    assert isinstance(match, OccurrenceMatch)
    assert match.fields == {
        "f.user": (2, 0.5),
        "f.ts": (1, 2),
        "f.type": ("failed", "failed"),
        "f.known": (None, None),
        "f.score": (2, 0.5),
        "s.ts": 5,
        "s.type": "success",
        "s.known": False,
        "s.score": None,
        "s.user": "ann",
    }


def test_a_field_of_a_branch_that_was_not_taken_is_missing() -> None:
    text = """
    PATTERN p SEQ(OR(a:failed, b:blocked), s:success) ON s WITHIN 3ms
    RETURN a.score AS of_a, b.ts AS of_b, (b.ts IS NULL) AS no_b
    """
    (match,) = graphtide.match(text, LOGINS)
    assert isinstance(match, OccurrenceMatch)
    assert match.fields == {"of_a": 0.5, "of_b": None, "no_b": None}


def test_what_began_and_what_is_retracted_have_their_fields_too() -> None:
    text = (
        "PATTERN p SEQ(f:failed, s:success) PARTITION BY user ON s WITHIN 3ms ON TIMEOUT RETURN f.score AS score, s.ts AS came"
    )
    records = [*LOGINS, {"ts": 5, "op": "delete", "id": "f2"}]
    emitted = [
        (match.kind.value, dict(match.fields)) for match in graphtide.match(text, records) if isinstance(match, OccurrenceMatch)
    ]
    assert emitted == [
        ("timeout", {"score": 2, "came": None}),
        ("match", {"score": 0.5, "came": 5}),
        ("retract", {"score": 0.5, "came": 5}),
    ]


def test_fields_are_columns_of_a_table_with_the_type_of_their_values() -> None:
    text = """
    PATTERN p SEQ(f:failed, s:success) ON s WITHIN 9ms RETURN f.score AS score, s.ts - f.ts AS took, f.address
    PATTERN q SEQ(a, b) ON s WITHIN 9ms RETURN a.known AS score
    """
    table = graphtide.match(text, LOGINS).to_arrow()
    assert table.column_names[-3:] == ["fields.score", "fields.took", "fields.f.address"]
    assert table.column("fields.took").to_pylist() == [None, 4, 3, None, None]
    assert table.column("fields.score").to_pylist() == [None, 2, 0.5, None, None]
    assert graphtide.match(text, []).to_arrow().column_names == table.column_names


def test_fields_stand_behind_the_ids_of_a_record(tmp_path: Path) -> None:
    pattern, stream = tmp_path / "p.gtp", tmp_path / "s.jsonl"
    text = 'PATTERN p SEQ(f:failed{2}, s:success) ON s WITHIN 9ms RETURN s.user AS `who "is"`, f.score, s.score, s.known'
    pattern.write_text(text)
    stream.write_text("".join(json.dumps(record) + "\n" for record in LOGINS))
    done = CliRunner().invoke(app, ["match", str(pattern), str(stream)])
    assert done.exit_code == 0, done.output
    record = done.stdout.strip()
    assert record.endswith(
        '"events":{"f":["f1","f2"],"s":"s5"},"fields":{"who \\"is\\"":"ann","f.score":[2,0.5],"s.score":null,"s.known":false}}'
    )


FLOWS = [
    {"ts": 1, "src": "u", "dst": "v", "label": "login", "id": "e1", "bytes": 10, "ok": True},
    {"ts": 3, "src": "v", "dst": "w", "label": "flow", "id": "e3", "bytes": 90.5, "src_label": "host"},
    {"ts": 4, "src": "v", "dst": "x", "label": "flow", "id": "e4"},
]


@pytest.mark.parametrize("engine", ["timing", "sj-tree", "re-search", "filtering"])
def test_a_subgraph_returns_attributes_times_labels_and_vertices(engine: str) -> None:
    text = """
    PATTERN p MATCH (a)-[e:login]->(b)-[f]->(c) ORDER e < f ON s WINDOW 9ms
    RETURN b.id AS victim, f.bytes, e.ok AS ok, f.ts - e.ts AS took, f.src, f.src_label AS kind, e.label,
           f.bytes + e.bytes AS total
    """
    first, second = graphtide.match(text, FLOWS, graphtide.MatchOptions(engine=engine))
    assert first.fields == {
        "victim": "v",
        "f.bytes": 90.5,
        "ok": True,
        "took": 2,
        "f.src": "v",
        "kind": "host",
        "e.label": "login",
        "total": 100.5,
    }
    assert (second.fields["f.bytes"], second.fields["kind"], second.fields["total"]) == (None, None, None)


def test_everything_of_a_subgraph_is_time_label_and_what_it_reads_of_each_edge() -> None:
    text = "PATTERN p MATCH (a)-[e:login]->(b)-[f]->(c) WHERE f.bytes > 1 ON s WINDOW 9ms RETURN e.ok AS `e.label`, *"
    (match,) = graphtide.match(text, FLOWS)
    assert list(match.fields.items()) == [
        ("e.label", True),
        ("e.ts", 1),
        ("e.bytes", 10),
        ("e.ok", True),
        ("f.ts", 3),
        ("f.label", "flow"),
        ("f.bytes", 90.5),
        ("f.ok", None),
    ]


def test_a_retraction_of_a_subgraph_has_the_fields_of_the_match() -> None:
    text = "PATTERN p MATCH (a)-[e:login]->(b)-[f:flow]->(c) ON s WINDOW 9ms RETURN f.bytes AS size"
    records = [*FLOWS, {"ts": 5, "op": "delete", "id": "e1"}]
    emitted = [(match.kind.value, match.fields["size"]) for match in graphtide.match(text, records)]
    assert emitted == [("match", 90.5), ("match", None), ("retract", 90.5), ("retract", None)]


@pytest.mark.parametrize("engine", ["ddst-baseline", "ddst-signature", "ddst-coloring"])
def test_a_component_returns_lists_and_what_is_computed_from_them(engine: str) -> None:
    text = """
    PATTERN p MATCH (a)-[e:login]->(b)-[f:flow]->(c) UNDER DUAL SIMULATION ON s WINDOW 9ms
    RETURN c.id AS targets, f.bytes, count(f) AS flows, count(c) AS reached, sum(f.bytes) AS total, last(f.dst) AS newest,
           last(f.ts) - first(e.ts) AS took, f.src AS sources, f.label
    """
    *_, match = graphtide.match(text, FLOWS, graphtide.MatchOptions(engine=engine))
    assert match.fields == {
        "targets": ("w", "x"),
        "f.bytes": (90.5, None),
        "flows": 2,
        "reached": 2,
        "total": 90.5,
        "newest": "x",
        "took": 3,
        "sources": ("v", "v"),
        "f.label": ("flow", "flow"),
    }


def test_patterns_that_differ_in_what_they_return_alone_each_return_their_own() -> None:
    match = "MATCH (a)-[e:flow]->(b) ON s WINDOW 9ms"
    text = f"PATTERN p {match} PATTERN q {match} RETURN e.bytes AS size PATTERN r {match} RETURN e.bytes AS bytes, e.ts AS at"
    emitted = [(found.query, dict(found.fields)) for found in graphtide.match(text, FLOWS) if found.last_ts == 3]
    assert sorted(emitted) == [("p", {}), ("q", {"size": 90.5}), ("r", {"bytes": 90.5, "at": 3})]
