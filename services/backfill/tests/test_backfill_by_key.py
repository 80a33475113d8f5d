"""A backfill that is divided by key finds what one that is not does, in the order of detection, and continues as any."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

import graphtide
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graphtide_backfill.adapters.detection_order import merge
from graphtide_backfill.adapters.files import Files
from graphtide_backfill.adapters.one_process import OneProcess
from graphtide_backfill.adapters.output import write_all
from graphtide_backfill.adapters.result_folder import ResultFolder
from graphtide_backfill.adapters.statement_files import StatementFiles
from graphtide_backfill.application.backfill import Asked, Backfill
from graphtide_backfill.application.ports import CancelledError
from graphtide_backfill.domain.division import SliceKey
from graphtide_backfill.domain.sizing import BASE_BYTES, BYTES_AN_EDGE, Machine, WindowTooLargeError
from graphtide_backfill.domain.task import Task
from graphtide_core.errors import InvalidPatternError
from graphtide_core.match import SubgraphMatch
from graphtide_core.part_key import BY_VERTEX, PartKey
from graphtide_query import parse, parse_streams
from graphtide_testing.found import keys_in_json_lines
from graphtide_testing.records import to_json_lines
from graphtide_testing.strategies.streams import StreamShape, random_stream
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from graphtide_backfill.application.backfill import Progress, RunTotals
    from graphtide_backfill.application.pieces import History
    from graphtide_core.edge import Edge
    from graphtide_testing.found import Found

TEXT = """
PATTERN fan MATCH (a)-[x:x]->(b), (a)-[y:y]->(c) ORDER x < y ON s WINDOW 9
PATTERN twice MATCH (a)-[x]->(b), (a)-[y]->(b) WHERE x.n >= y.n ORDER x < y ON s WINDOW 20
"""
BY_SOURCE = SliceKey(PartKey("src"), 5)
BIG = Machine(2, 2 << 30)


@dataclass
class World:
    """History in a file, and a folder for a run."""

    folder: Path
    edges: Sequence[Edge] = field(
        default_factory=lambda: random_stream(random.Random(7), StreamShape(max_records=400, vertices=6))
    )
    most_slices: int | None = None
    emitted: list[Progress] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.file = self.folder / "history.jsonl"
        self.file.write_bytes(to_json_lines(self.edges))
        self.stop = Event()

    def backfill(self, asked: Asked, text: str = TEXT, machine: Machine = BIG) -> tuple[Backfill, ResultFolder]:
        results = ResultFolder(self.folder / "run")
        made = Backfill(
            Task(parse(text)), Files(str(self.file), "jsonl"), OneProcess(machine), results, asked,
            on_progress=self.note, is_wanted=lambda: not self.stop.is_set(),
        )  # fmt: skip
        return made, results

    def note(self, progress: Progress) -> None:
        self.emitted.append(progress)
        if progress.slices_done == self.most_slices:
            self.stop.set()

    def in_one_pass(self, text: str = TEXT) -> list[Found]:
        return one_pass(text, self.file)


def start(task: Task, history: History, results: ResultFolder, asked: Asked) -> Backfill:
    return Backfill(
        task, history, OneProcess(BIG), results, asked, on_progress=lambda _: None, is_wanted=lambda: True,
    )  # fmt: skip


def one_pass(text: str, file: Path, stated: str | None = None) -> list[Found]:
    found = graphtide.match(text, file, graphtide.MatchOptions(stream=stated))
    return keys_in_json_lines("\n".join(each.to_json() for each in found if isinstance(each, SubgraphMatch)))


def found_in(results: ResultFolder) -> list[Found]:
    return keys_in_json_lines(b"\n".join(records_in(results)))


def records_in(results: ResultFolder) -> list[bytes]:
    return [each.record for number in results.finished() for each in results.records(number)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def run(world: World, asked: Asked, text: str = TEXT) -> tuple[RunTotals, ResultFolder]:
    made, results = world.backfill(asked, text)
    return made.run(made.prepare()), results


@pytest.mark.parametrize("slice_length", [None, 37])
@pytest.mark.parametrize("key", [PartKey("src"), BY_VERTEX])
def test_parts_find_what_one_pass_finds(world: World, key: PartKey, slice_length: int | None) -> None:
    totals, results = run(world, Asked(slice_length=slice_length, by=SliceKey(key, 5)))
    assert found_in(results) == world.in_one_pass()
    assert totals.slices % 5 == 0
    assert totals.retractions > 0
    assert totals.duplicates > 0


def test_each_record_is_counted_once_and_copies_are_looked_at_again(world: World) -> None:
    whole, results = run(world, Asked())
    alone = found_in(results)
    for file in results.sink.folder.iterdir():
        file.unlink()
    (results.path / "run.json").unlink()
    parts, again = run(world, Asked(by=SliceKey(BY_VERTEX, 4)))
    assert found_in(again) == alone
    assert parts.edges == whole.edges
    assert parts.overlap > whole.overlap
    assert world.emitted[-1].edges == whole.edges


def test_matches_are_written_in_the_order_of_detection(world: World, tmp_path: Path) -> None:
    _, results = run(world, Asked(slice_length=60, by=BY_SOURCE))
    write_all(results, results.finished(), tmp_path / "matches.parquet")
    write_all(results, results.finished(), tmp_path / "matches.jsonl")
    table = pq.read_table(tmp_path / "matches.parquet")
    times = table.column("detected_at").to_pylist()
    assert times == sorted(times)
    assert len(set(times)) > 10
    assert keys_in_json_lines("\n".join(table.column("record").to_pylist())) == world.in_one_pass()
    assert (tmp_path / "matches.jsonl").read_text().splitlines() == table.column("record").to_pylist()


def test_a_run_that_was_cancelled_continues_with_its_parts_whatever_is_asked_then(world: World) -> None:
    made, results = world.backfill(Asked(slice_length=60, by=BY_SOURCE))
    prepared = made.prepare()
    world.most_slices = 3
    with pytest.raises(CancelledError):
        made.run(prepared)
    kept = {number: results.sink.outcome(number).seconds for number in results.finished()}
    assert len(kept) == 3
    world.most_slices = None
    world.stop.clear()
    other, results = world.backfill(Asked(by=SliceKey(PartKey("src"), 2)))
    again = other.prepare()
    assert again.slices == prepared.slices
    assert again.manifest == prepared.manifest
    other.run(again)
    assert {number: results.finished()[number].seconds for number in kept} == kept
    assert found_in(results) == world.in_one_pass()


def test_parts_are_a_few_for_each_core_and_time_is_cut_no_further(world: World) -> None:
    made, _ = world.backfill(Asked(by=SliceKey(PartKey("src"))))
    prepared = made.prepare()
    assert prepared.manifest.cut.parts == 6
    assert [each.part for each in prepared.slices] == list(range(6))
    assert prepared.estimate.edges + prepared.estimate.repeated == sum(prepared.reading.by_part)


def test_a_window_fits_if_that_of_the_largest_part_does(world: World) -> None:
    text = TEXT.replace("WINDOW 20", "WINDOW 4000")
    small = Machine(2, BASE_BYTES + 300 * BYTES_AN_EDGE)
    whole, _ = world.backfill(Asked(), text, small)
    with pytest.raises(WindowTooLargeError):
        whole.prepare()
    parts, results = world.backfill(Asked(by=SliceKey(PartKey("src"), 8)), text, small)
    parts.run(parts.prepare())
    assert found_in(results) == world.in_one_pass(text)


def test_a_pattern_that_is_not_local_is_refused_before_history_is_read(world: World) -> None:
    world.file.unlink()
    made, _ = world.backfill(Asked(by=BY_SOURCE), "PATTERN p MATCH (a)-[x]->(b)-[y]->(c) ORDER x < y ON s WINDOW 9")
    with pytest.raises(InvalidPatternError, match="'p' is not local by src: x and y may begin at two vertices") as refused:
        made.prepare()
    assert refused.value.hint == "let all edges begin at one vertex"


def test_query_edges_that_no_part_has_are_named_and_those_that_one_part_has_are_not(world: World) -> None:
    text = """
    PATTERN known MATCH (a)-[x]->(b), (a)-[y]->(c) WHERE a.id = 'v1' ORDER x < y ON s WINDOW 9
    PATTERN unknown MATCH (a)-[x]->(b), (a)-[y:unheard]->(c) WHERE a.id = 'v2' ORDER x < y ON s WINDOW 9
    """
    made, results = world.backfill(Asked(by=SliceKey(PartKey("src"), 8)), text)
    prepared = made.prepare()
    totals = made.run(prepared)
    assert totals.unmatched == {"unknown": ["y"]}
    assert found_in(results) == world.in_one_pass(text)
    assert len({each.part for each in prepared.slices}) == 2


STATED = """STREAM s EDGE (src)-[label]->(dst) AT ts ID id DELETE WHERE op = 'delete'
FEATURE busy = count(*) PER src OVER 30ms
EMIT EDGE (src)-[:often]->(dst) EVERY 20ms SET count = count(*)
"""
COUNTED = """
PATTERN fan MATCH (a)-[x]->(b), (a)-[y]->(c) ORDER x < y WHERE x.busy > 1 RETURN y.busy ON s WINDOW 9
PATTERN grows MATCH (a)-[x:often]->(b), (a)-[y]->(c) ORDER x < y WHERE x.count > 1 ON s WINDOW 12
"""


@pytest.mark.parametrize("slice_length", [None, 23])
def test_features_and_what_emit_gives_are_counted_in_parts(world: World, tmp_path: Path, slice_length: int | None) -> None:
    (definition,) = parse_streams(STATED)
    results = ResultFolder(tmp_path / "run")
    task = Task(parse(COUNTED), windows=definition.windows)
    made = start(
        task, StatementFiles(str(world.file), definition, "jsonl"), results, Asked(slice_length=slice_length, by=BY_SOURCE)
    )
    made.run(made.prepare())
    found = found_in(results)
    assert found == one_pass(COUNTED, world.file, STATED)
    assert {json.loads(each)["query"] for each in records_in(results)} == {"fan", "grows"}


def test_a_feature_that_counts_records_of_several_parts_is_refused(world: World, tmp_path: Path) -> None:
    (definition,) = parse_streams(STATED.replace("PER src", "PER dst"))
    task = Task(parse(COUNTED), windows=definition.windows)
    made = start(task, Files(str(world.file), "jsonl"), ResultFolder(tmp_path / "run"), Asked(by=BY_SOURCE))
    with pytest.raises(InvalidPatternError, match="feature 'busy' counts records of several parts: it is not PER src"):
        made.prepare()


@given(st.lists(st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=4), max_size=4))
def test_batches_of_parts_are_merged_by_time(parts: list[list[list[int]]]) -> None:
    tables, expected = [], []
    for number, batches in enumerate(parts):
        times = sorted(time for batch in batches for time in batch)
        expected += [(time, number) for time in times]
        ascending = iter(times)
        tables.append(iter([batch_of([next(ascending) for _ in batch], number) for batch in batches]))
    merged = [(row["detected_at"], row["part"]) for batch in merge(tables) for row in batch.to_pylist()]
    assert [time for time, _ in merged] == sorted(time for time, _ in expected)
    assert sorted(merged) == sorted(expected)


def batch_of(times: list[int], part: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array(times, pa.int64()), pa.array([part] * len(times), pa.int64())], ["detected_at", "part"])
