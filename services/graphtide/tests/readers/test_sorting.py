"""A file out of order is read in order of time, whatever its size, and one in order as it lies there."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graphtide import MatchOptions, StreamWarning, UnreadableStreamError, match
from graphtide.cli.app import app
from graphtide.readers import ReaderOptions, open_stream, sorting
from graphtide.readers.sorting import SortingReader, is_in_order
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Generator

    from graphtide.readers import Reader
    from graphtide_native.records import EdgeBatch

Record = dict[str, Any]

VALUES = st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"ts": st.integers(0, 9), "src": st.sampled_from("ab"), "dst": st.sampled_from("ab"), "label": st.sampled_from("xy")},
        optional={
            "id": st.sampled_from(["k", "7", "ü"]),
            "src_label": st.just("p"),
            "n": VALUES,
            "kind": VALUES,
            "op": st.just("insert"),
        },
    )
    | st.fixed_dictionaries({"ts": st.integers(0, 9), "type": st.sampled_from("st")}, optional={"n": VALUES})
    | st.fixed_dictionaries({"ts": st.integers(0, 9), "id": st.just("k"), "op": st.just("delete")}),
    max_size=24,
)


def rows(reader: Reader) -> list[Record]:
    kept = ("ts", "op", "src", "dst", "id", "made", "label", "src_label", "dst_label", "attributes")
    return [{name: row[name] for name in kept} for batch in reader.batches() for row in batch.to_records()]


def write(folder: Path, records: list[Record]) -> str:
    path = folder / "s.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return str(path)


@given(records=RECORDS, kept=st.sampled_from([0, 1_000, 1 << 20]), part=st.sampled_from([0, 1_000, 1 << 20]))
def test_records_come_in_order_of_time_as_they_are(
    records: list[Record], kept: int, part: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write(tmp_path_factory.mktemp("sorting"), records)
    options = ReaderOptions(attributes=("n", "kind"), block_size=60)
    expected = sorted(rows(open_stream(path, options)), key=lambda row: row["ts"])
    reader = SortingReader(
        open_stream(path, options), options, times=lambda: open_stream(path), kept_bytes=kept, part_bytes=part
    )
    assert rows(reader) == expected
    times = [each["ts"] for each in records]
    assert reader.is_sorted_here == (times != sorted(times))
    assert is_in_order(open_stream(path)) == (times == sorted(times))
    assert (reader.records, reader.take_dead_letters()) == (len(records), [])
    known = SortingReader(open_stream(path, options), options, times=None, part_bytes=part)
    assert rows(known) == expected


def test_many_parts_are_merged_in_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "MOST_PARTS", 3)
    times = [(7 * place) % 50 for place in range(200)]
    records: list[Record] = [{"ts": times[place], "src": str(place), "dst": "b", "label": "x"} for place in range(200)]
    path = write(tmp_path, records)
    options = ReaderOptions(block_size=200)
    reader = SortingReader(open_stream(path, options), options, times=None, part_bytes=0)
    expected = sorted(range(200), key=lambda place: times[place])
    assert [(row["src"], row["id"]) for row in rows(reader)] == [(str(place), str(place)) for place in expected]


def test_attributes_that_are_called_as_columns_stay(tmp_path: Path) -> None:
    path = write(
        tmp_path, [{"ts": ts, "src": "a", "dst": "b", "label": "x", "type": f"t{ts}", "op": "insert"} for ts in (3, 1, 2)]
    )
    options = ReaderOptions(attributes=("type", "ts", "label"), block_size=20)
    expected = sorted(rows(open_stream(path, options)), key=lambda row: row["ts"])
    assert rows(SortingReader(open_stream(path, options), options, times=None, part_bytes=0)) == expected


def test_nothing_is_left_of_a_sort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = write(tmp_path, [{"ts": ts, "src": "a", "dst": "b", "label": "x"} for ts in (3, 1, 2)])
    options = ReaderOptions(block_size=20)
    reader = SortingReader(open_stream(path, options), options, times=None, part_bytes=0)
    with contextlib.closing(cast("Generator[EdgeBatch]", reader.batches())) as batches:
        next(batches)
        assert len(list(tmp_path.iterdir())) == 2
    assert [each.name for each in tmp_path.iterdir()] == ["s.jsonl"]


def test_a_folder_without_room_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, [{"ts": ts, "src": "a", "dst": "b", "label": "x"} for ts in (3, 1, 2)])
    options = ReaderOptions(block_size=20)
    reader = SortingReader(open_stream(path, options), options, times=None, part_bytes=0)

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UnreadableStreamError, match=r"cannot be sorted in .*: No space left on device"):
        list(reader.batches())


PATTERN = "PATTERN p MATCH (a)-[x]->(b)-[y]->(c) ORDER x < y ON s WINDOW 10"
TEXT = "ts,src,dst,label\n9,b,c,x\n1,a,b,x\n"


def test_runs_sort_a_file_unless_a_lateness_is_given(tmp_path: Path) -> None:
    (tmp_path / "p.gtp").write_text(PATTERN)
    (tmp_path / "s.csv").write_text(TEXT)
    (tmp_path / "empty.csv").write_text("ts,src,dst,label\n")
    table = pa.table({"ts": [9, 1], "src": ["b", "a"], "dst": ["c", "b"], "label": ["x", "x"]})
    pq.write_table(table, tmp_path / "s.parquet")
    for name in ("s.csv", "s.parquet"):
        result = CliRunner().invoke(app, ["match", str(tmp_path / "p.gtp"), str(tmp_path / name)])
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["edges"] == {"x": "1", "y": "0"}
        assert "note: the stream is not in order of time, so it was sorted first" in result.stderr
        assert [found.detected_at for found in match(PATTERN, tmp_path / name)] == [9]
    strict = CliRunner().invoke(app, ["match", str(tmp_path / "p.gtp"), str(tmp_path / "s.csv"), "--lateness", "0"])
    assert (strict.exit_code, strict.stdout) == (5, "")
    assert "1 of 2 records was rejected" in strict.stderr
    for options in (MatchOptions(lateness=0), MatchOptions(sort=False)):
        with pytest.warns(StreamWarning, match="1 of 2 records was rejected"):
            assert list(match(PATTERN, tmp_path / "s.csv", options)) == []
    counted = CliRunner().invoke(app, ["statistics", str(tmp_path / "s.csv")])
    assert counted.exit_code == 0, counted.output


def test_a_pipe_is_read_as_it_comes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.csv")
    writer = Thread(target=(tmp_path / "s.csv").write_text, args=(TEXT,), daemon=True)
    writer.start()
    with pytest.warns(StreamWarning, match="1 of 2 records was rejected"):
        assert list(match(PATTERN, tmp_path / "s.csv")) == []
    writer.join()
