"""Python warns of what patterns ask that their stream never had: once, at the end of the stream, wherever records come from."""

from __future__ import annotations

import asyncio
import warnings
from typing import TYPE_CHECKING

import graphtide
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from graphtide import Inputs, PatternWarning, Session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

MISSPELT = {
    "isomorphism": "PATTERN p MATCH (a)-[x:pya]->(b) ON s WINDOW 10s",
    "vertices": "PATTERN p MATCH (a: Acount)-[x:pay]->(b) ON s WINDOW 10s",
    "simulation": "PATTERN p MATCH (a)-[x:pya]->(b) UNDER DUAL SIMULATION ON s WINDOW 10s",
    "events": "PATTERN p SEQ(x: pya, y: pay) ON s WITHIN 1s",
    "algebra": "QUERY p r(x, y) <- pya+(x, y). ON s WINDOW(1h)",
}

PAYS = [
    {"ts": ts, "src": f"v{ts}", "dst": f"v{ts + 1}", "label": "pay", "src_label": "Account", "amount": 7} for ts in range(3)
]

SOURCES: dict[str, Callable[[], object]] = {
    "list": lambda: PAYS,
    "generator": lambda: (each for each in PAYS),
    "pyarrow": lambda: pa.Table.from_pylist(PAYS),
    "pandas": lambda: pd.DataFrame(PAYS),
    "polars": lambda: pl.DataFrame(PAYS),
}


@pytest.fixture(autouse=True)
def _nothing_is_ignored() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("family", MISSPELT)
def test_a_misspelt_name_is_warned_of(family: str, source: str) -> None:
    what = {
        "vertices": "vertex of label 'Acount' among the first 3 edges; did you mean Account?",
        "events": "event of type 'pya' among the first 3 events; did you mean pay?",
    }.get(family, "edge of label 'pya' among the first 3 edges; did you mean pay?")
    with pytest.warns(PatternWarning) as caught:
        assert list(graphtide.match(MISSPELT[family], SOURCES[source]())) == []
    assert [(str(each.message), each.filename) for each in caught] == [(f"pattern 'p': no {what}", __file__)]


def test_several_patterns_are_one_warning() -> None:
    with pytest.warns(PatternWarning) as caught:
        list(graphtide.match(MISSPELT["isomorphism"] + "\n" + MISSPELT["vertices"].replace(" p ", " q "), PAYS))
    assert [str(each.message).splitlines() for each in caught] == [
        [
            "pattern 'p': no edge of label 'pya' among the first 3 edges; did you mean pay?",
            "pattern 'q': no vertex of label 'Acount' among the first 3 edges; did you mean Account?",
        ]
    ]


def test_a_session_warns_when_it_is_finished_of_all_pieces() -> None:
    session = Session("PATTERN p MATCH (a)-[x:pay]->(b)-[y:refund]->(c) WHERE x.note = 'n' ON s WINDOW 10s")
    session.push(PAYS[:1])
    session.push([{**PAYS[1], "label": "refund"}, PAYS[2]])
    with pytest.warns(PatternWarning) as caught:
        session.finish()
    assert [str(each.message) for each in caught] == ["pattern 'p': no edge with attribute 'note' among the first 3 edges"]


def test_what_is_asked_for_in_vain_in_the_first_records_alone_is_not_warned_of() -> None:
    # The first batch of a live stream is one record.
    later = [*PAYS, {"ts": 9, "src": "a", "dst": "b", "label": "refund", "note": "n"}]
    text = "PATTERN p MATCH (a)-[x:pay]->(b)-[y:refund]->(c) WHERE y.note = 'm' ON s WINDOW 10s"
    assert list(graphtide.match(text, (each for each in later))) == []


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("isomorphism", "no edge of label 'pya' among the first 3 edges"),
        ("events", "no event of type 'pya' among the first 3 events"),
    ],
)
def test_deleted_records_alone_have_no_names(name: str, note: str) -> None:
    deletion = {"ts": 5, "src": "a", "dst": "b", "label": "pya", "id": "7", "op": "delete"}
    with pytest.warns(PatternWarning, match=note):
        list(graphtide.match(MISSPELT[name], [*PAYS, deletion]))


def test_a_pattern_with_matches_is_warned_of_attributes_alone() -> None:
    text = "PATTERN p MATCH (a)-[x:pay]->(b) ON s WINDOW 10s RETURN x.amuont, x.amount"
    with pytest.warns(PatternWarning, match="^pattern 'p': no edge with attribute 'amuont' .*; did you mean amount[?]$"):
        assert len(list(graphtide.match(text, PAYS))) == 3


def test_streams_by_name_are_one() -> None:
    query = (
        "QUERY p INPUT a = ()-[e:pay]->() ON s WINDOW(1h) WHERE e.note = 'n' "
        "INPUT b = ()-[f:refund]->() ON t WINDOW(1h) r(x, y) <- a(x, z), b(z, y)."
    )
    note = "no edge of label 'refund' among the first 6 edges\npattern 'p': no edge with attribute 'note'"
    with pytest.warns(PatternWarning, match=note):
        list(graphtide.match(query, Inputs(s=PAYS, t=PAYS)))


def test_an_event_loop_is_warned_where_it_waits() -> None:
    async def source() -> AsyncIterator[dict[str, object]]:
        for each in PAYS:
            yield each

    async def run() -> None:
        async for _ in graphtide.match(MISSPELT["isomorphism"], source()):
            pass

    with pytest.warns(PatternWarning, match="'pya' among the first 3") as caught:
        asyncio.run(run())
    assert [each.filename for each in caught] == [__file__]


def test_a_file_without_records_is_warned_of_and_an_empty_list_is_not(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,src,dst,label\n")
    with pytest.warns(PatternWarning, match="the stream has no records"):
        list(graphtide.match(MISSPELT["isomorphism"], tmp_path / "s.csv"))
    assert list(graphtide.match(MISSPELT["isomorphism"], [])) == []


def test_matches_that_are_left_early_are_not_warned_of() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with graphtide.match("PATTERN p MATCH (a)-[x:pay]->(b) ON s WINDOW 10s RETURN x.amuont", PAYS) as matches:
            next(matches)
    assert caught == []


def test_explaining_warns_too() -> None:
    with pytest.warns(PatternWarning, match="no edge of label 'pya' among the first 3 edges"):
        graphtide.explain(MISSPELT["isomorphism"], analyze=PAYS)
