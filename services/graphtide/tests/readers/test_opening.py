"""Files in every format and of every kind of brokenness, as a user meets them."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from graphtide.readers import ReaderOptions, open_stream
from graphtide.record_options import RecordOptions
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.formats import CSV, PARQUET
from graphtide_core.time import TimeUnit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = 5000
TABLE = pa.table(
    {
        "ts": range(ROWS),
        "src": [f"10.0.0.{row % 250}" for row in range(ROWS)],
        "dst": pa.array(range(ROWS), pa.int32()),
        "label": ["http" if row % 3 else "tcp" for row in range(ROWS)],
        "junk": [[row] for row in range(ROWS)],
        "bytes": [row * 7 for row in range(ROWS)],
    }
)
FLAT = TABLE.drop(["junk"])


def csv_bytes() -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(FLAT, sink)
    return bytes(sink.getvalue())


def json_bytes() -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in TABLE.to_pylist())


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def write_stream(path: Path) -> None:
    with pa.ipc.new_stream(path, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=999)


WRITERS: dict[str, Callable[[Path], object]] = {
    "a.csv": lambda path: path.write_bytes(csv_bytes()),
    "a.CSV": lambda path: path.write_bytes(csv_bytes()),
    "a.csv.gz": lambda path: path.write_bytes(gzip.compress(csv_bytes())),
    "joined.csv.gz": lambda path: path.write_bytes(
        gzip.compress(csv_bytes()[:1000]) + gzip.compress(csv_bytes()[1000:]) + bytes(100)
    ),
    "a.csv.zst": lambda path: path.write_bytes(zstd(csv_bytes())),
    "a.jsonl": lambda path: path.write_bytes(json_bytes()),
    "a.ndjson.gz": lambda path: path.write_bytes(gzip.compress(json_bytes())),
    "unpacked.jsonl.gz": lambda path: path.write_bytes(json_bytes()),
    "a.parquet": lambda path: pyarrow.parquet.write_table(TABLE, path, row_group_size=700),
    "a": lambda path: pyarrow.parquet.write_table(TABLE, path),
    "a.feather": lambda path: pyarrow.feather.write_feather(TABLE, path, compression="zstd"),
    "a.ipc": write_stream,
}


SMALL_PIECES = ReaderOptions(attributes=("bytes", "absent"), block_size=1 << 12, block_rows=512)


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_records(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    reader = open_stream(path, SMALL_PIECES)
    records = [record for batch in reader.batches() for record in batch.to_records()]

    assert [(r["ordinal"], r["ts"], r["src"], r["dst"], r["label"], r["id"], r["attributes"]) for r in records] == [
        (row, row, f"10.0.0.{row % 250}", str(row), "http" if row % 3 else "tcp", str(row), {"bytes": row * 7, "absent": None})
        for row in range(ROWS)
    ]
    assert reader.take_dead_letters() == []
    assert reader.bytes_total == path.stat().st_size
    assert 0 < reader.bytes_read <= reader.bytes_total
    if "json" not in name:
        assert reader.columns == (FLAT if "csv" in name.lower() else TABLE).column_names
    assert not reader.has_ids
    assert not reader.has_operations


def test_timestamps_are_read_in_the_unit_of_the_stream(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    times = pa.array([1_999_999, -1], pa.timestamp("us"))
    table = FLAT.slice(0, 2).set_column(0, "when", times)
    pyarrow.parquet.write_table(table, path)
    reader = open_stream(path, ReaderOptions(columns={"ts": "when"}, time_unit=TimeUnit.SECOND))
    assert [batch.ts for batch in reader.batches()] == [[1, -1]]


def test_bad_records_are_rejected_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"ts,src,dst,label\n1,a,b,c\nx,a,b,c\n")
    reader = open_stream(path)
    assert [len(batch) for batch in reader.batches()] == [1]
    assert [(d.line, d.reason, d.raw) for d in reader.take_dead_letters()] == [(3, 'ts "x" is not an integer', b"x,a,b,c")]
    assert reader.take_dead_letters() == []


def read_refusal(path: Path | str, given: ReaderOptions | None = None) -> str:
    with pytest.raises(UnreadableStreamError) as caught:
        list(open_stream(path, given).batches())
    return str(caught.value).replace(str(path), "PATH")


def test_what_cannot_be_opened_is_said_in_plain_words(tmp_path: Path) -> None:
    assert read_refusal(tmp_path / "none.csv") == "PATH: no such file"
    assert read_refusal(tmp_path) == "PATH: there is no file in this folder"
    assert read_refusal(tmp_path / "a.csv" / "b") == "PATH: no such file"
    assert "is not the name of a file" in read_refusal("a\0b")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert read_refusal(tmp_path / "loop") == "PATH: cannot be opened (Too many levels of symbolic links)"


CONTENTS = [
    ("a.csv", b"", "PATH: the stream is empty: it has no header"),
    ("a.csv.gz", b"", "PATH: the stream is empty: it has no header"),
    (
        "a.csv",
        b"ts,src,dst\n",
        'PATH: no column "label"; the columns are "ts", "src", "dst"; a label for all edges can be stated',
    ),
    ("a.csv", b"PAR1....", "PATH: its name says to be csv, but it is parquet"),
    ("a.jsonl", b"ARROW1..", "PATH: its name says to be jsonl, but it is arrow"),
    ("a.parquet", b"ts,src,dst,label\n", "PATH: this is not a Parquet file"),
    ("a.parquet", b"", "PATH: this is not a Parquet file"),
    ("a.arrow", b"", "PATH: the file is empty"),
    ("a.feather", b"FEA1....", "PATH: Feather version 1 is not supported; write the file again as version 2"),
    (
        "a.parquet",
        gzip.compress(b"x", mtime=0),
        "PATH: a compressed parquet file cannot be read; unpack it, the format compresses by itself",
    ),
    ("a.txt", b"ts,src,dst,label\n", "PATH: its name does not show its format"),
]


@pytest.mark.parametrize(("name", "data", "reason"), CONTENTS)
def test_what_is_not_of_its_format_is_refused_in_plain_words(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert read_refusal(path).startswith(reason)


def test_a_format_that_is_said_wins_over_the_name(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"ts;src;dst;label\n1;a;b;c\n")
    reader = open_stream(path, ReaderOptions(format=CSV, record_options=RecordOptions(delimiter=";")))
    assert [len(batch) for batch in reader.batches()] == [1]
    pyarrow.parquet.write_table(FLAT, path)
    assert read_refusal(path, ReaderOptions(format=CSV)) == "PATH: was said to be csv, but it is parquet"


def test_an_empty_stream_of_json_lines_or_rows_is_not_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"")
    pyarrow.parquet.write_table(TABLE.slice(0, 0), tmp_path / "a.parquet")
    assert [list(open_stream(tmp_path / name).batches()) for name in ("a.jsonl", "a.parquet")] == [[], []]


@pytest.mark.parametrize("type", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize("coded", [True, False])
def test_texts_of_parquet_are_the_same_however_they_are_written(tmp_path: Path, type: pa.DataType, coded: bool) -> None:
    """Texts repeat in the first rows and differ in the last, so that codes and plain texts are in one column."""
    texts = {
        "src": [f"a{row % 9}" if row < 3_000 else f"{row}" for row in range(ROWS)],
        "dst": [None if row == 4_000 else "" if row == 4_001 else f"b{row % 7}" for row in range(ROWS)],
        "label": [None if row == 4_500 else f"l{row % 5}" for row in range(ROWS)],
        "id": [None if row % 11 == 0 else f"i{row}" for row in range(ROWS)],
        "note": [None if row % 3 else f"n{row % 4}" for row in range(ROWS)],
    }
    plain = pa.table({"ts": range(ROWS), **texts})
    table = pa.table({"ts": range(ROWS), **{name: pa.array(values).cast(type) for name, values in texts.items()}})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", use_dictionary=coded, row_group_size=1_500)

    def read(name: str) -> tuple[list[dict[str, object]], list[tuple[int, str]]]:
        reader = open_stream(tmp_path / name, ReaderOptions(attributes=("note",), block_rows=700))
        records = [row for batch in reader.batches() for row in batch.to_records()]
        return records, [(letter.line, letter.reason) for letter in reader.take_dead_letters()]

    with pa.ipc.new_file(tmp_path / "a.arrow", plain.schema) as writer:
        writer.write_table(plain)
    records, letters = read("a.parquet")
    assert (records, letters) == read("a.arrow")
    assert letters == [(4_001, "dst is missing"), (4_002, "dst is empty"), (4_501, "label is missing")]
    assert len(records) == ROWS - len(letters)


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.ipc"])
def test_a_damaged_or_narrow_columnar_file_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert read_refusal(path).startswith("PATH: ")
    path.write_bytes(whole)
    assert 'PATH: no column "from" (for src); the columns are "ts", "src"' in read_refusal(
        path, ReaderOptions(columns={"src": "from"})
    )


def cut(packed: bytes) -> bytes:
    return packed[: len(packed) // 2]


def overwritten(packed: bytes) -> bytes:
    half = len(packed) // 2
    return packed[:half] + b"\xff" * 1000 + packed[half + 1000 :]


# zstd as pyarrow writes it has no checksum: what was overwritten may go unseen.
@pytest.mark.parametrize(
    ("suffix", "pack", "damage", "reason"),
    [
        ("gz", gzip.compress, cut, "the gzip data breaks off"),
        ("gz", gzip.compress, overwritten, "the gzip data is damaged"),
        ("gz", gzip.compress, lambda packed: packed + b"junk", "the gzip data is damaged"),
        ("zst", zstd, cut, "the zstd data is damaged or breaks off"),
    ],
)
def test_a_broken_compressed_file_gives_what_it_has_and_then_says_so(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes], damage: Callable[[bytes], bytes], reason: str
) -> None:
    rows = b"".join(b"%d,%d,%d,c\n" % (row, row * 7919 % 100_003, row * 104_729 % 1_000_003) for row in range(200_000))
    path = tmp_path / f"a.csv.{suffix}"
    path.write_bytes(damage(pack(b"ts,src,dst,label\n" + rows)))
    read: list[int] = []
    with pytest.raises(UnreadableStreamError, match=reason):
        read.extend(len(batch) for batch in open_stream(path).batches())
    assert 50_000 < sum(read) <= 200_000


def test_standard_input_is_read_as_it_comes() -> None:
    code = (
        "from graphtide.readers import open_stream\n"
        "for batch in open_stream('-').batches():\n"
        "    print(batch.ordinals, flush=True)\n"
    )
    record = b'{"ts":1,"src":"a","dst":"b","label":"c"}\n'
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for ordinal in range(3):
            process.stdin.write(record)
            process.stdin.flush()
            # Answered before the next is written: a reader that waits for a full block would hang here.
            assert process.stdout.readline() == b"[%d]\n" % ordinal
        process.stdin.write(record.rstrip())
        process.stdin.close()
        assert process.stdout.readline() == b"[3]\n"
        assert process.wait() == 0


def test_standard_input_may_be_csv_but_not_columnar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(b"ts,src,dst,label\n1,a,b,c\n")
    with path.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert read_refusal("-", ReaderOptions(format=PARQUET)).endswith(
            "parquet cannot be read from a pipe; use csv, jsonl, json or zeek"
        )
        reader = open_stream("-", ReaderOptions(format=CSV))
        assert [batch.ts for batch in reader.batches()] == [[1]]
        assert reader.bytes_total is None
        assert not file.closed


def test_a_named_pipe_is_read_as_a_text(tmp_path: Path) -> None:
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    writer = subprocess.Popen(["/bin/sh", "-c", f"printf 'ts,src,dst,label\\n1,a,b,c\\n' > {path}"])
    reader = open_stream(path)
    assert [batch.ts for batch in reader.batches()] == [[1]]
    assert reader.bytes_total is None
    assert writer.wait() == 0
