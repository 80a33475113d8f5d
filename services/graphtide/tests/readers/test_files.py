"""Many files are one stream: their records come in order of time, and made ids count all of them."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graphtide import StreamWarning, match
from graphtide.cli.app import app
from graphtide.readers import ReaderOptions, open_stream
from graphtide.readers.files import MOST_FILES, MOST_OPEN, FilesReader, files_of
from graphtide_core.errors import UnreadableStreamError
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

    from graphtide.readers import Reader

HEADER = "ts,src,dst,label\n"
files = st.lists(st.lists(st.integers(0, 12), max_size=6).map(sorted), min_size=1, max_size=6)


def write(folder: Path, name: str, times: list[int]) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER + "".join(f"{ts},{name},v{place},x\n" for place, ts in enumerate(times)))
    return str(path)


def rows(reader: Reader) -> list[dict[str, Any]]:
    return [row for batch in reader.batches() for row in batch.to_records()]


@given(drawn=files, size=st.integers(20, 60))
def test_records_come_in_order_of_time_then_of_the_files(
    drawn: list[list[int]], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("files")
    paths = [write(folder, f"{number}.csv", times) for number, times in enumerate(drawn)]
    if len(paths) == 1:
        paths = [*paths, write(folder, "empty.csv", [])]
    reader = open_stream(paths, ReaderOptions(block_size=size))
    found = rows(reader)
    expected = sorted((ts, number, place) for number, times in enumerate(drawn) for place, ts in enumerate(times))
    assert [(row["ts"], row["src"], row["dst"]) for row in found] == [
        (ts, f"{number}.csv", f"v{place}") for ts, number, place in expected
    ]
    assert [row["id"] for row in found] == [str(number) for number in range(len(found))]
    assert all(row["made"] for row in found)
    assert reader.records == len(found)
    assert reader.take_dead_letters() == []


@given(drawn=st.lists(st.lists(st.integers(0, 12), max_size=6), min_size=2, max_size=4), lateness=st.integers(0, 4))
def test_each_file_has_the_lateness_by_itself(
    drawn: list[list[int]], lateness: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("files")
    paths = [write(folder, f"{number}.csv", times) for number, times in enumerate(drawn)]
    reader = open_stream(paths, ReaderOptions(lateness=lateness))
    found, late = rows(reader), Counter[str]()
    expected = []
    for number, times in enumerate(drawn):
        newest = None
        for place, ts in enumerate(times):
            if newest is not None and ts < newest - lateness:
                late[paths[number]] += 1
                continue
            newest = ts if newest is None else max(newest, ts)
            expected.append((ts, number, place))
    assert [(row["ts"], row["src"], row["dst"]) for row in found] == [
        (ts, f"{number}.csv", f"v{place}") for ts, number, place in sorted(expected)
    ]
    assert Counter(letter.reason.partition(": ")[0] for letter in reader.take_dead_letters()) == late


def test_files_that_follow_one_another_are_open_one_at_a_time(tmp_path: Path) -> None:
    paths = [write(tmp_path, f"{number:03}.csv", [number * 10, number * 10 + 9]) for number in range(2 * MOST_OPEN)]
    alive, most = set[str](), 0

    def open_file(path: str, options: ReaderOptions) -> Reader:
        nonlocal most
        reader = open_stream(path, options)
        alive.add(path)
        most = max(most, len(alive))
        close = reader.close

        def forget() -> None:
            alive.discard(path)
            close()

        reader.close = forget  # type: ignore[method-assign]
        return reader

    reader = FilesReader(paths, open_file, ReaderOptions())
    assert len(rows(reader)) == 4 * MOST_OPEN
    assert (most, alive) == (1, set())


def test_files_that_overlap_are_bounded(tmp_path: Path) -> None:
    paths = [write(tmp_path, f"{number:03}.csv", [0, 100]) for number in range(MOST_OPEN + 1)]
    assert len(rows(open_stream(paths[1:]))) == 2 * MOST_OPEN
    with pytest.raises(UnreadableStreamError, match=f"064.csv: more than {MOST_OPEN} files overlap in time"):
        rows(open_stream(paths))
    with pytest.raises(UnreadableStreamError, match="10,001 files are more than one stream may have"):
        FilesReader(["x"] * (MOST_FILES + 1), open_stream, ReaderOptions())


def test_folders_and_patterns_name_files(tmp_path: Path) -> None:
    inside = [write(tmp_path, name, [1]) for name in ("b/year=2024/x.csv", "b/year=2025/y.csv", "b/z.csv")]
    for hidden in ("b/.part.csv", "b/_SUCCESS", "b/_temporary/t.csv"):
        write(tmp_path, hidden, [1])
    assert files_of(str(tmp_path / "b")) == inside
    assert files_of(str(tmp_path / "b" / "*.csv")) == inside[2:]
    assert files_of(str(tmp_path / "**" / "year*" / "*.csv")) == inside[:2]
    assert files_of(f"file://{tmp_path}/b/") == [f"file://{path}" for path in inside]
    assert files_of(f"file://{tmp_path}/b/year=*/*.csv") == [f"file://{path}" for path in inside[:2]]
    for nothing in (str(tmp_path / "b" / "*.json"), f"file://{tmp_path}/b/*.json"):
        with pytest.raises(UnreadableStreamError, match="there is no file of this name"):
            files_of(nothing)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableStreamError, match="there is no file in this folder"):
        open_stream(tmp_path / "empty")


def test_files_by_uri_are_read_as_those_by_path(tmp_path: Path) -> None:
    csv = write(tmp_path, "a.csv", [1, 2])
    table = pa.table({"ts": [3, 4], "src": ["a", "b"], "dst": ["c", "d"], "label": ["x", "x"]})
    pq.write_table(table, tmp_path / "b.parquet")
    with pa.ipc.new_file(tmp_path / "c.arrow", table.schema) as file:
        file.write_table(table)
    for path in (csv, tmp_path / "b.parquet", tmp_path / "c.arrow"):
        assert rows(open_stream(f"file://{path}")) == rows(open_stream(path))
    assert len(rows(open_stream([f"file://{csv}", tmp_path / "b.parquet"]))) == 4
    for wrong, shown in (("nowhere://x/y.csv", "cannot be opened"), (f"file://{tmp_path}/none.csv", "cannot be opened")):
        with pytest.raises(UnreadableStreamError, match=shown):
            open_stream(wrong)


def test_formats_may_differ_and_dead_letters_name_their_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "1,a,b,x\nsoon,a,b,x\n5,a,b,x\n")
    (tmp_path / "b.jsonl").write_text(json.dumps({"ts": 3, "src": "b", "dst": "c", "label": "x"}) + "\n{}\n")
    (tmp_path / "bad.csv").write_text(HEADER + "never,a,b,x\n")
    reader = open_stream([tmp_path / "a.csv", tmp_path / "b.jsonl", tmp_path / "bad.csv"])
    assert [row["ts"] for row in rows(reader)] == [1, 3, 5]
    assert sorted((letter.line, letter.reason.partition(": ")[0]) for letter in reader.take_dead_letters()) == [
        (2, str(tmp_path / "b.jsonl")), (2, str(tmp_path / "bad.csv")), (3, str(tmp_path / "a.csv")),
    ]  # fmt: skip
    assert (reader.records, reader.columns, reader.place) == (6, None, "line")


@given(drawn=st.lists(st.lists(st.integers(0, 12), max_size=6), min_size=2, max_size=4))
def test_files_out_of_order_are_sorted_by_themselves(drawn: list[list[int]], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("files")
    paths = [write(folder, f"{number}.csv", times) for number, times in enumerate(drawn)]
    reader = open_stream(paths, ReaderOptions(sorts=True, block_size=40))
    expected = sorted((ts, number, place) for number, times in enumerate(drawn) for place, ts in enumerate(times))
    assert [(row["ts"], row["src"], row["dst"]) for row in rows(reader)] == [
        (ts, f"{number}.csv", f"v{place}") for ts, number, place in expected
    ]
    assert reader.is_sorted_here == any(times != sorted(times) for times in drawn)
    assert reader.take_dead_letters() == []


def test_matches_join_files(tmp_path: Path) -> None:
    first, second = write(tmp_path, "1.csv", [1, 3]), write(tmp_path, "2.csv", [2, 4])
    pattern = "PATTERN p MATCH (a)-[x]->(b), (c)-[y]->(b) ORDER x < y ON s WINDOW 10"
    (tmp_path / "p.gtp").write_text(pattern)
    found = [each.edges for each in match(pattern, [first, second])]
    assert found == [{"x": "0", "y": "1"}, {"x": "2", "y": "3"}]
    assert [each.edges for each in match(pattern, str(tmp_path / "*.csv"))] == found
    for names in ((first, second), (str(tmp_path / "*.csv"),)):
        result = CliRunner().invoke(app, ["match", str(tmp_path / "p.gtp"), *names])
        assert result.exit_code == 0, result.output
        assert [json.loads(line)["edges"] for line in result.stdout.splitlines()] == found
    refused = CliRunner().invoke(app, ["match", str(tmp_path / "p.gtp"), first, "-"])
    assert str(refused.exception) == "standard input is read by itself, not with files"
    for ts in (1, 2):
        (tmp_path / f"{ts}.jsonl").write_text(f'{{"ts":{ts},"src":"a","dst":"b","label":"x","id":"k"}}\n')
    with pytest.warns(StreamWarning, match="1 of 4 records was dropped as a duplicate"):
        list(match(pattern, [first, tmp_path / "1.jsonl", tmp_path / "2.jsonl"]))
