"""What a pattern asks that its stream does not have is said by every command, of every family, in the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide.cli.app import app
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

EDGES = "ts,src,dst,label,value\n1,a,b,pay,95\n2,b,c,pay,99\n"
EVENTS = "ts,type,value\n1,login,95\n2,logout,99\n"
NUMBERS = "attribute 'value' is compared with a text, and its values are numbers: that is never true"

CASES = {
    "label of edges": ("PATTERN p MATCH (a)-[x:pya]->(b) ON s WINDOW 10s", EDGES, "no edge of label 'pya' among the first 2"),
    "label of components": (
        "PATTERN p MATCH (a)-[x:pya]->(b) UNDER DUAL SIMULATION ON s WINDOW 10s",
        EDGES,
        "no edge of label 'pya' among the first 2 edges; did you mean pay?",
    ),
    "label of a query": ("QUERY p r(x, y) <- pya+(x, y). ON s WINDOW(1h)", EDGES, "no edge of label 'pya' among the first 2"),
    "type of events": (
        "PATTERN p SEQ(x: logni, y: logout) ON s WITHIN 1s",
        EVENTS,
        "no event of type 'logni' among",
    ),
    "text for a number": ("PATTERN p MATCH (a)-[x:pay]->(b) WHERE x.value > '90' ON s WINDOW 10s", EDGES, NUMBERS),
    "texts for a number": ("PATTERN p MATCH (a)-[x:pay]->(b) WHERE x.value IN ['9'] ON s WINDOW 10s", EDGES, NUMBERS),
    "text for a number of components": (
        "PATTERN p MATCH (a)-[x:pay {value: '95'}]->(b) UNDER DUAL SIMULATION ON s WINDOW 10s",
        EDGES,
        NUMBERS,
    ),
    "text for a number of events": ("PATTERN p SEQ(x: login, y: logout) WHERE y.value = '99' ON s WITHIN 1s", EVENTS, NUMBERS),
    "text for a number of a query": (
        "QUERY p INPUT i = ()-[e:pay]->() ON s WINDOW(1h) WHERE e.value STARTS WITH '9' r(x, y) <- i(x, y).",
        EDGES,
        NUMBERS,
    ),
    "a header alone": ("PATTERN p MATCH (a)-[x:pay]->(b) ON s WINDOW 10s", EDGES.partition("\n")[0] + "\n", "no records"),
    "a header of events alone": ("PATTERN p SEQ(x: login, y: logout) ON s WITHIN 1s", "ts,type\n", "no records"),
}


def read_notes(folder: Path, text: str, records: str, verb: str) -> str:
    (folder / "p.gt").write_text(text)
    (folder / "s.csv").write_text(records)
    stream = ["--stream"] if verb == "validate" else []
    ended = CliRunner().invoke(app, [verb, str(folder / "p.gt"), *stream, str(folder / "s.csv")])
    assert ended.exit_code == 0, ended.output
    return ended.stderr


@pytest.mark.parametrize("verb", ["match", "validate"])
@pytest.mark.parametrize("case", CASES)
def test_what_does_not_fit_the_stream_is_noted(tmp_path: Path, case: str, verb: str) -> None:
    text, records, note = CASES[case]
    assert note in read_notes(tmp_path, text, records, verb)


@pytest.mark.parametrize("verb", ["match", "validate"])
@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("PATTERN p MATCH (a)-[x:pay]->(b) WHERE x.value > 90 ON s WINDOW 10s", EDGES),
        ("PATTERN p MATCH (a)-[x:pay]->(b) WHERE x.value <> '90' ON s WINDOW 10s", EDGES),
        ("PATTERN p MATCH (a)-[x:pay]->(b) WHERE NOT x.value = '90' ON s WINDOW 10s", EDGES),
        ("PATTERN p MATCH (a)-[x:pay]->(b) WHERE x.value = 'high' ON s WINDOW 10s", EDGES.replace("95", "high")),
        ("PATTERN p SEQ(x: login, y: logout) ON s WITHIN 1s", EVENTS),
        ("QUERY p r(x, y) <- pay+(x, y). ON s WINDOW(1h)", EDGES),
    ],
)
def test_what_fits_is_not(tmp_path: Path, text: str, records: str, verb: str) -> None:
    noted = [
        line
        for line in read_notes(tmp_path, text, records, verb).splitlines()
        if "note:" in line and "no record could" not in line
    ]
    assert noted == []


BURST = "PATTERN p MATCH " + ", ".join(f"(h)-[e{n}:pay]->(v{n})" for n in range(7)) + " ON s WINDOW 10s"


@pytest.mark.parametrize("verb", ["match", "validate", "validate --stream", "explain", "explain --analyze"])
def test_a_pattern_whose_parts_can_be_exchanged_is_noted(tmp_path: Path, verb: str) -> None:
    (tmp_path / "p.gtp").write_text(BURST)
    (tmp_path / "s.csv").write_text(EDGES)
    command, *option = verb.split()
    stream = [*option, str(tmp_path / "s.csv")] if verb not in {"validate", "explain"} else []
    found = CliRunner().invoke(app, [command, str(tmp_path / "p.gtp"), *stream])
    assert found.exit_code == 0
    assert found.stderr.count("note: pattern 'p': one record may complete 5,040 matches: the edges e0, e1, e2, e3, …") == 1


def test_an_iteration_is_noted_by_how_often_its_events_come(tmp_path: Path) -> None:
    (tmp_path / "p.gtp").write_text("PATTERN p SEQ(a: login+, b: logout) ON s WITHIN 30s")
    (tmp_path / "s.csv").write_text("ts,type\n" + "".join(f"{ts * 1000},login\n" for ts in range(40)))
    found = CliRunner().invoke(app, ["validate", str(tmp_path / "p.gtp"), "--stream", str(tmp_path / "s.csv")])
    assert "note: pattern 'p': one record may complete" in found.stderr
    assert "write SKIP TILL NEXT" in found.stderr
