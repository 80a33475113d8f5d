"""A backfill finds what one pass over the whole of history finds, continues where it ended, and refuses another run."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graphtide_backfill.adapters.files import Files
from graphtide_backfill.adapters.one_process import OneProcess
from graphtide_backfill.adapters.output import counted_by_time, write_all
from graphtide_backfill.adapters.result_folder import ResultFolder
from graphtide_backfill.application.backfill import Asked, Backfill, RunTotals
from graphtide_backfill.application.manifest import OtherRunError
from graphtide_backfill.application.ports import CancelledError
from graphtide_backfill.domain.sizing import BASE_BYTES, BYTES_AN_EDGE, Machine, WindowTooLargeError
from graphtide_backfill.domain.task import Task
from graphtide_core.any_pattern import subgraphs_alone
from graphtide_core.errors import InvalidPatternError, UnreadableStreamError
from graphtide_native.spec import Limits
from graphtide_query import parse_subgraphs
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.found import keys_in_json_lines
from graphtide_testing.records import to_json_lines
from graphtide_testing.strategies.streams import StreamShape, random_stream
from pyarrow import csv

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from graphtide_backfill.application.backfill import Progress
    from graphtide_backfill.application.ports import Cluster
    from graphtide_core.edge import Edge
    from graphtide_testing.found import Found

TEXT = """
PATTERN chain MATCH (a)-[x:x]->(b)-[y:y]->(c) ORDER x < y ON s WINDOW 9
PATTERN pair MATCH (a)-[x:x]->(b), (b)-[y:x]->(a) WHERE x.n >= y.n ON s WINDOW 20
"""
BIG = Machine(2, 2 << 30)
SHAPE = StreamShape(max_records=400, vertices=6)


@dataclass
class World:
    """History in a file, and a folder for a run."""

    folder: Path
    edges: Sequence[Edge] = field(default_factory=lambda: random_stream(random.Random(7), SHAPE))
    cluster: Cluster = field(default_factory=lambda: OneProcess(BIG))
    emitted: list[Progress] = field(default_factory=list)
    most_slices: int | None = None

    def __post_init__(self) -> None:
        self.file = self.folder / "history.jsonl"
        self.file.write_bytes(to_json_lines(self.edges))
        self.stop = Event()

    def backfill(self, task: Task, asked: Asked | None = None, run: str = "run") -> tuple[Backfill, ResultFolder]:
        results = ResultFolder(self.folder / run)
        made = Backfill(
            task,
            Files(str(self.file), "jsonl"),
            self.cluster,
            results,
            asked or Asked(slice_length=37),
            on_progress=self.note,
            is_wanted=lambda: not self.stop.is_set(),
        )
        return made, results

    def note(self, progress: Progress) -> None:
        self.emitted.append(progress)
        if progress.slices_done == self.most_slices:
            self.stop.set()

    def run(self, task: Task, asked: Asked | None = None, run: str = "run") -> tuple[RunTotals, list[Found]]:
        backfill, results = self.backfill(task, asked, run)
        totals = backfill.run(backfill.prepare())
        return totals, found_in(results)

    def in_one_pass(self, task: Task) -> list[Found]:
        return Feed(*(plan(pattern, "timing") for pattern in subgraphs_alone(task.patterns))).push(*self.edges)


def found_in(results: ResultFolder) -> list[Found]:
    lines = [each.record for number in results.finished() for each in results.records(number)]
    return keys_in_json_lines(b"\n".join(lines))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


TASK = Task(parse_subgraphs(TEXT), "timing")


@pytest.mark.parametrize("engine", ["auto", "timing", "sj-tree", "re-search", "filtering"])
def test_every_engine_finds_what_one_pass_finds(world: World, engine: str) -> None:
    totals, found = world.run(Task(parse_subgraphs(TEXT), engine))
    assert found == world.in_one_pass(TASK)
    assert totals.matches + totals.retractions == len(found)
    assert totals.retractions > 0
    assert totals.slices > 5
    assert totals.duplicates > 0


def test_only_what_is_detected_in_the_asked_time_is_found(world: World) -> None:
    times = sorted(edge.ts for edge in world.edges)
    start, end = times[100], times[300]
    _, found = world.run(TASK, Asked(start, end))
    assert found == [each for each in world.in_one_pass(TASK) if start <= each.detected_at < end]


def test_a_run_that_was_cancelled_continues_with_what_is_missing(world: World) -> None:
    backfill, results = world.backfill(TASK)
    prepared = backfill.prepare()
    world.most_slices = 1
    with pytest.raises(CancelledError):
        backfill.run(prepared)
    kept = {number: results.sink.outcome(number).seconds for number in results.finished()}
    assert len(kept) == 1
    world.most_slices = None
    world.stop.clear()
    _, found = world.run(TASK)
    assert found == world.in_one_pass(TASK)
    assert {number: ResultFolder(results.path).finished()[number].seconds for number in kept} == kept


def test_a_slice_that_was_not_finished_leaves_nothing(world: World) -> None:
    _, results = world.backfill(TASK)
    (results.sink.folder / ".0f").write_bytes(b"half")
    _, found = world.run(TASK)
    assert found == world.in_one_pass(TASK)


@pytest.mark.parametrize(
    ("task", "change", "named"),
    [
        (Task(parse_subgraphs(TEXT.replace("WINDOW 9", "WINDOW 8")), "timing"), b"", "patterns"),
        (Task(parse_subgraphs(TEXT), "sj-tree"), b"", "engine"),
        (Task(parse_subgraphs(TEXT), "timing", limits=Limits(5)), b"", "limits"),
        (TASK, b'{"ts":99999,"src":"a","dst":"b","label":"x"}\n', "history"),
    ],
)
def test_another_run_is_refused_by_name(world: World, task: Task, change: bytes, named: str) -> None:
    world.run(TASK)
    with world.file.open("ab") as file:
        file.write(change)
    with pytest.raises(OtherRunError, match=named):
        world.run(task)


def test_a_window_that_does_not_fit_is_refused_with_what_it_needs(world: World) -> None:
    world.cluster = OneProcess(Machine(2, BASE_BYTES + BYTES_AN_EDGE))
    with pytest.raises(WindowTooLargeError, match=r"holds about \d+ edges, which need about 201 MB; a slice may take 201 MB"):
        world.run(TASK)


def test_a_limit_that_was_reached_is_reported(world: World) -> None:
    totals, _ = world.run(Task(parse_subgraphs(TEXT), "timing", limits=Limits(1, None, "shed")))
    assert not totals.is_exact


def test_progress_ends_with_all_slices(world: World) -> None:
    totals, _ = world.run(TASK)
    last = world.emitted[-1]
    assert (last.slices_done, last.slices, last.matches) == (totals.slices, totals.slices, totals.matches)
    assert last.edges == totals.edges


def test_matches_are_marked_and_records_are_as_engines_write_them(world: World, tmp_path: Path) -> None:
    _, results = world.backfill(TASK)
    world.run(TASK)
    write_all(results, results.finished(), tmp_path / "matches.parquet")
    write_all(results, results.finished(), tmp_path / "matches.jsonl")
    table = pq.read_table(tmp_path / "matches.parquet")
    records = table.column("record").to_pylist()
    assert set(table.column("backfilled").to_pylist()) == {True}
    assert keys_in_json_lines("\n".join(records)) == world.in_one_pass(TASK)
    assert (tmp_path / "matches.jsonl").read_text().splitlines() == records


def test_matches_are_counted_by_time(world: World) -> None:
    _, found = world.run(TASK)
    _, results = world.backfill(TASK)
    counted = counted_by_time(results, results.finished(), 50)
    assert sum(each["matches"] for each in counted) == sum(each.kind == "match" for each in found)
    assert {each["start"] for each in counted} == {each.detected_at // 50 * 50 for each in found}


def test_records_without_ids_are_called_by_their_place_in_all_files(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    rows = [(1, "a", "b"), (2, "b", "c"), (3, "c", "d"), (4, "d", "e")]
    for number in range(2):
        part = rows[2 * number : 2 * number + 2]
        lines = ["ts,src,dst,label", *(f"{ts},{source},{target},x" for ts, source, target in part)]
        (folder / f"{number}.csv").write_text("\n".join(lines) + "\n")
    (pattern,) = parse_subgraphs("PATTERN chain MATCH (a)-[p]->(b)-[q]->(c) ORDER p < q ON s WINDOW 5")
    results = ResultFolder(tmp_path / "run")
    made = Backfill(
        Task((pattern,)), Files(str(folder), "csv"), OneProcess(BIG), results, Asked(slice_length=1),
        on_progress=lambda _: None, is_wanted=lambda: True,
    )  # fmt: skip
    made.run(made.prepare())
    assert [each.edges for each in found_in(results)] == [
        (("p", "0"), ("q", "1")),
        (("p", "1"), ("q", "2")),
        (("p", "2"), ("q", "3")),
    ]


@pytest.mark.parametrize("format", ["parquet", "arrow", "csv"])
def test_every_format_gives_the_same(world: World, tmp_path: Path, format: str) -> None:
    table = pa.Table.from_pylist([
        {
            "ts": edge.ts, "src": edge.source, "dst": edge.target, "label": edge.label,
            "id": None if edge.made else edge.id, "op": edge.operation.value,
        }
        for edge in world.edges
    ])  # fmt: skip
    path = tmp_path / f"history.{format}"
    if format == "parquet":
        pq.write_table(table, path, row_group_size=50)
    elif format == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=50)
    else:
        csv.write_csv(table, path)
    # The pattern asks for no labels of vertices and no attributes: that the file has none changes nothing.
    task = Task(parse_subgraphs("PATTERN chain MATCH (a)-[x:x]->(b)-[y:y]->(c) ORDER x < y ON s WINDOW 9"))
    results = ResultFolder(tmp_path / "run")
    made = Backfill(
        task, Files(str(path), format), OneProcess(BIG), results, Asked(slice_length=20),
        on_progress=lambda _: None, is_wanted=lambda: True,
    )  # fmt: skip
    made.run(made.prepare())
    assert found_in(results) == world.in_one_pass(task)


def test_a_column_of_texts_in_one_file_is_one_in_all(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "0.csv").write_text("ts,src,dst,label,zip\n1,a,b,x,77\n2,b,c,y,8\n")
    (folder / "1.csv").write_text("ts,src,dst,label,zip\n3,a,d,x,01234\n4,d,e,y,9\n")
    assert match("x.zip = '77'", Files(str(folder), "csv"), tmp_path / "run").matches == 1
    declared = Files(str(folder), "csv", types={"zip": "integer"})
    assert match("x.zip = 1234", declared, tmp_path / "other").matches == 1


def test_a_record_of_another_type_than_declared_is_rejected(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "0.csv").write_text("ts,src,dst,label,n\n1,a,b,x,7\n2,b,c,y,seven\n3,b,c,y,9\n")
    found = match("x.n = 7", Files(str(folder), "csv", types={"n": "integer"}), tmp_path / "run")
    assert (found.matches, found.rejected) == (1, 1)


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_a_column_of_another_type_than_declared_is_refused(tmp_path: Path, format: str) -> None:
    history = write_history(tmp_path / "files", format, pa.table({**COLUMNS, "n": ["7", "8"]}))
    declared = Files(history.location, format, types={"n": "integer"})
    with pytest.raises(UnreadableStreamError, match=rf"0\.{format}: .*n.*declared"):
        match("x.n = 7", declared, tmp_path / "run")


COLUMNS = {"ts": [1, 2], "src": ["a", "b"], "dst": ["b", "c"], "label": ["x", "y"]}


def write_history(folder: Path, format: str, *tables: pa.Table) -> Files:
    folder.mkdir()
    for number, table in enumerate(tables):
        path = folder / f"{number}.{format}"
        if format == "parquet":
            pq.write_table(table, path)
        elif format == "arrow":
            with pa.ipc.new_stream(path, table.schema) as writer:
                writer.write_table(table)
        else:
            csv.write_csv(table, path)
    return Files(str(folder), format)


def match(condition: str, history: Files, run: Path) -> RunTotals:
    text = f"PATTERN chain MATCH (a)-[x:x]->(b)-[y:y]->(c) WHERE {condition} ON s WINDOW 9"
    made = Backfill(
        Task(parse_subgraphs(text)), history, OneProcess(BIG), ResultFolder(run), Asked(),
        on_progress=lambda _: None, is_wanted=lambda: True,
    )  # fmt: skip
    return made.run(made.prepare())


@pytest.mark.parametrize("format", ["parquet", "arrow", "csv"])
def test_a_pattern_that_reads_what_no_file_has_is_refused(tmp_path: Path, format: str) -> None:
    history = write_history(tmp_path / "history", format, pa.table(COLUMNS), pa.table(COLUMNS))
    with pytest.raises(InvalidPatternError, match="pattern 'chain': the stream has no attribute 'amount'") as refused:
        match("x.amount > 3", history, tmp_path / "run")
    assert refused.value.hint == "the stream's columns are ts, src, dst, label"
    # Two edges can be x, and two y.
    assert match("x.amount IS NULL", history, tmp_path / "run").matches == 4


@pytest.mark.parametrize("format", ["parquet", "arrow", "csv"])
def test_an_attribute_that_one_file_has_is_there(tmp_path: Path, format: str) -> None:
    paid = pa.table({**COLUMNS, "amount": [5, 6]})
    history = write_history(tmp_path / "history", format, pa.table(COLUMNS), paid)
    assert match("x.amount > 3", history, tmp_path / "run").matches == 2


def test_where_only_records_show_it_the_totals_say_what_nothing_could_be(world: World) -> None:
    text = "PATTERN chain MATCH (a)-[x:x]->(b)-[y:y]->(c) WHERE y.unheard_of = 1 ON s WINDOW 9"
    totals, _ = world.run(Task(parse_subgraphs(text)))
    assert totals.unmatched == {"chain": ["y"]}
    assert world.run(TASK, run="other")[0].unmatched == {}


@pytest.mark.parametrize(("name", "said"), [("none.parquet", "no such file"), ("text.parquet", "text.parquet")])
def test_history_that_cannot_be_read_is_named(world: World, tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "text.parquet").write_text("no parquet")
    made = Backfill(
        TASK, Files(str(tmp_path / name), "parquet"), OneProcess(BIG), ResultFolder(tmp_path / "run"), Asked(),
        on_progress=lambda _: None, is_wanted=lambda: True,
    )  # fmt: skip
    with pytest.raises(UnreadableStreamError, match=said):
        made.prepare()
