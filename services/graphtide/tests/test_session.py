"""The Python interface: every source of records gives the same matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import graphtide
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from graphtide import Duration, Edge, InvalidPatternError, MatchOptions, Operation, Session, UnreadableStreamError
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime

if TYPE_CHECKING:
    from pathlib import Path

    from graphtide_core.edge import Value

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) WHERE y.amount > 3 ORDER x < y ON payments WINDOW 10"

RECORDS: list[dict[str, object]] = [
    {"ts": 1, "src": "ann", "dst": "bob", "label": "pays", "amount": 5},
    {"ts": 2, "src": "bob", "dst": "cem", "label": "pays", "amount": 2},
    {"ts": 3, "src": "bob", "dst": "dan", "label": "pays", "amount": 9},
    {"ts": 30, "src": "bob", "dst": "eve", "label": "pays", "amount": 9},
]

EXPECTED = [({"x": "0", "y": "2"}, {"a": "ann", "b": "bob", "c": "dan"})]


def find(source: object, **options: object) -> list[tuple[dict[str, object], dict[str, object]]]:
    matches = graphtide.match(PATTERN, source, MatchOptions(**options))  # type: ignore[arg-type] # a test's table of options
    return [({**match.edges}, {**match.vertices}) for match in matches]


@pytest.mark.parametrize("engine", ["auto", "timing", "sj-tree", "re-search"])
def test_an_iterable_of_dictionaries(engine: str) -> None:
    assert find(RECORDS, engine=engine) == EXPECTED
    assert find(iter(RECORDS), engine=engine) == EXPECTED


def test_tables_of_three_libraries() -> None:
    assert find(pa.Table.from_pylist(RECORDS)) == EXPECTED
    assert find(pd.DataFrame(RECORDS)) == EXPECTED
    assert find(pl.DataFrame(RECORDS)) == EXPECTED


def test_a_path(tmp_path: Path) -> None:
    path = tmp_path / "payments.csv"
    pd.DataFrame(RECORDS).to_csv(path, index=False)
    assert find(path) == EXPECTED
    assert find(str(path)) == EXPECTED


def test_what_is_not_a_stream_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a int is not a stream of records"):
        find(7)
    with pytest.raises(UnreadableStreamError):
        find(tmp_path / "none.csv")
    with pytest.raises(InvalidPatternError, match="no attribute 'amount'"):
        find(pd.DataFrame(RECORDS).drop(columns="amount"))


def test_a_session_takes_a_stream_in_pieces_and_puts_late_records_in_order() -> None:
    session = Session(PATTERN, MatchOptions(lateness=Duration(5)))
    swapped = [RECORDS[0], RECORDS[2], RECORDS[1]]
    early = [match for record in swapped for match in session.push([record])]
    assert early == [], "nothing is past the watermark yet"
    assert [dict(match.edges) for match in session.finish()] == [{"x": "0", "y": "1"}]


def test_a_late_record_is_rejected_with_its_reason() -> None:
    session = Session(PATTERN)
    session.push([RECORDS[3]])
    session.push([RECORDS[0]])
    (letter,) = session.take_dead_letters()
    assert "late" in letter.reason
    assert session.take_dead_letters() == []


def test_a_deletion_retracts_the_match() -> None:
    session = Session(PATTERN)
    ends = VertexId("ann"), VertexId("bob"), VertexId("cem")
    first = Edge(EdgeId("one"), EventTime(1), ends[0], ends[1], "pays", attributes={"amount": 5})
    second = Edge(EdgeId("two"), EventTime(2), ends[1], ends[2], "pays", attributes={"amount": 5})
    gone = Edge(EdgeId("one"), EventTime(3), ends[0], ends[1], "pays", operation=Operation.DELETE)
    (match,) = session.push([first, second])
    (retraction,) = session.push([gone])
    assert (match.kind.value, retraction.kind.value) == ("match", "retract")
    assert match.match_id == retraction.match_id
    assert retraction.detected_at == 3


@pytest.mark.parametrize("engine", ["timing", "sj-tree", "re-search", "filtering"])
def test_fields_of_the_record_are_not_hidden_by_attributes_of_their_names(engine: str) -> None:
    conditions = {"label": "k", "id": "one", "src": "u", "dst": "v", "src_label": "A"}
    where = " AND ".join(f"x.{name} = '{value}'" for name, value in conditions.items())
    pattern = f"PATTERN p MATCH (a)-[x]->(b) WHERE {where} AND x.dst_label IS NULL AND x.ts = 7 ON s WINDOW 10"
    hiding: dict[str, Value] = dict.fromkeys([*conditions, "dst_label"], "other") | {"ts": 0}
    edge = Edge(EdgeId("one"), EventTime(7), VertexId("u"), VertexId("v"), "k", "A", attributes=hiding)
    (match,) = graphtide.match(pattern, [edge], MatchOptions(engine=engine))
    assert dict(match.edges) == {"x": "one"}


@pytest.mark.parametrize("form", ["text", "json", "dot"])
def test_explain_shows_the_choice(form: str) -> None:
    text = graphtide.explain(PATTERN, RECORDS, format=form)
    assert "p" in text
    if form == "text":
        assert "considered" in text
    with pytest.raises(ValueError, match="there is no format 'xml'"):
        graphtide.explain(PATTERN, format="xml")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("PATTERN p SEQ(a:x, NOT n:y) ON s WITHIN 10ms", ["match"]),
        ("PATTERN p SEQ(a:x, b:y) ON s WITHIN 10ms ON TIMEOUT", ["timeout"]),
        ("PATTERN p MATCH (a)-[e:x]->(b) ON s UNDER DUAL SIMULATION WINDOW 10ms REPORT CHANGES", ["match", "retract"]),
    ],
)
def test_a_dropped_duplicate_moves_time_as_another_record_would(text: str, kinds: list[str]) -> None:
    """Its id is in the window of 1 h that another pattern has; what waits for a bound is settled with it, and once."""
    other = "PATTERN other MATCH (a)-[e:z]->(b) ON s WINDOW 1h\n"
    ends = {"src": "a", "dst": "b"}
    first, again = {"ts": 1, "label": "x", "id": "i", **ends}, {"ts": 50, "label": "x", "id": "i", **ends}
    session = Session(other + text)
    found = [*session.push(first), *session.push(again)]
    assert [match.kind.value for match in found] == kinds
    # A record of the duplicate's time is not late, and nothing comes twice.
    later = session.push({"ts": 50, "label": "q", "id": "j", **ends})
    assert [*later, *session.finish()] == []
    whole = graphtide.match(other + text, [first, again, {"ts": 50, "label": "q", "id": "j", **ends}])
    assert [match.kind.value for match in whole] == kinds


def test_partial_matches_of_a_session_are_what_has_begun() -> None:
    with Session(PATTERN, MatchOptions(engine="timing")) as session:
        assert session.partial_matches().nearest == ()
        session.push(RECORDS[:2])
        seen = session.partial_matches("p")
        assert [(dict(each.vertices), each.awaited, each.until) for each in seen.nearest] == [
            ({"a": "bob", "b": "cem"}, ("y",), 12),
            ({"a": "ann", "b": "bob"}, ("y",), 11),
        ]
        assert [(step.edges, step.alive) for step in seen.steps] == [(("x",), 2)]
        assert [each.vertices["b"] for each in session.push(RECORDS[2])] == ["bob"]
        with pytest.raises(LookupError, match="there is no pattern 'q', but p"):
            session.partial_matches("q")


def test_partial_matches_of_several_patterns_need_a_name() -> None:
    with (
        Session(f"{PATTERN}\n{PATTERN.replace('PATTERN p', 'PATTERN q')}", MatchOptions(engine="re-search")) as session,
        pytest.raises(LookupError, match="there are 2 patterns, name one: p, q"),
    ):
        session.partial_matches()
