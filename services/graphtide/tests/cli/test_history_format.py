"""`graphtide backfill` takes the format of history from the names of its files, or says what helps."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest
from graphtide.cli.app import app
from graphtide_backfill import bootstrap
from graphtide_backfill.adapters.one_process import OneProcess
from graphtide_backfill.domain.sizing import Machine
from graphtide_core.edge import Edge
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime
from graphtide_generate.writer import write_stream
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10\n"
EDGES = [
    Edge(EdgeId("e1"), EventTime(1), VertexId("a"), VertexId("b"), "pays"),
    Edge(EdgeId("e2"), EventTime(2), VertexId("b"), VertexId("c"), "pays"),
]


@pytest.fixture
def pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pattern, in the folder where the program runs, which works without Spark."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bootstrap, "spark_cluster", lambda _: nullcontext(OneProcess(Machine(2, 2 << 30))))
    (tmp_path / "p.gtp").write_text(PATTERN)
    return tmp_path / "p.gtp"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["backfill", *(str(each) for each in arguments)], catch_exceptions=False)


def write_history(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    write_stream(path, EDGES)


@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz", "e.jsonl", "e.parquet", "e.arrow"])
def test_the_names_of_files_give_their_format(pattern: Path, name: str) -> None:
    write_history(pattern.parent / "history" / name)
    (pattern.parent / "history" / "_SUCCESS").touch()
    assert run(pattern, "history/", "--output", "m.jsonl").exit_code == 0
    assert len((pattern.parent / "m.jsonl").read_bytes().splitlines()) == 1


def test_where_no_name_gives_it_the_first_bytes_do(pattern: Path) -> None:
    write_history(pattern.parent / "e.parquet")
    (pattern.parent / "e.parquet").rename(pattern.parent / "part-0")
    assert run(pattern, "part-0", "--output", "m.jsonl").exit_code == 0


@pytest.mark.parametrize(
    ("names", "location", "said"),
    [
        (
            ("a.csv", "b.parquet"),
            "history",
            r"a\.csv is csv, but .*b\.parquet is parquet: .* '\*\.csv', or say it with --source",
        ),
        (("a.csv", "notes.txt"), "history", r"notes\.txt: its name does not show its format"),
        ((), "history", "history: there is no file in it"),
        ((), "absent", "absent: there is no such file"),
        ((), "localhost:9092/graphtide.ordered.flows.v1", "a topic is history with --source kafka"),
    ],
)
def test_history_of_unknown_format_is_refused_with_what_helps(
    pattern: Path, names: tuple[str, ...], location: str, said: str
) -> None:
    (pattern.parent / "history").mkdir()
    for name in names:
        (pattern.parent / "history" / name).write_text("ts,src,dst,label\n1,a,b,pays\n")
    with pytest.raises(UnreadableStreamError, match=said):
        run(pattern, location)
