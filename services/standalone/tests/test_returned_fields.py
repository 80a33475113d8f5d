"""What RETURN asks for is told with each match, in records and in tables, through the embedded runtime."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import graphtide
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


def test_a_match_tells_what_its_pattern_returns_in_the_order_of_the_text() -> None:
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


def test_what_began_and_what_is_retracted_tell_their_fields_too() -> None:
    text = (
        "PATTERN p SEQ(f:failed, s:success) PARTITION BY user ON s WITHIN 3ms ON TIMEOUT RETURN f.score AS score, s.ts AS came"
    )
    records = [*LOGINS, {"ts": 5, "op": "delete", "id": "f2"}]
    told = [
        (match.kind.value, dict(match.fields)) for match in graphtide.match(text, records) if isinstance(match, OccurrenceMatch)
    ]
    assert told == [
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
