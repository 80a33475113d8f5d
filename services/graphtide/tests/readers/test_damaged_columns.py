"""A damaged Arrow or Parquet file is refused with a message, for any damage; it never ends the process that reads it."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graphtide.readers import ReaderOptions, open_stream
from graphtide_core.errors import UnreadableStreamError

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 40
PATTERN = "PATTERN p MATCH (a)-[x:k]->(b)-[y:l]->(c) ORDER x < y ON s WINDOW 10\n"
READER = """
import json, sys
from graphtide.readers import ReaderOptions, open_stream
from graphtide_core.errors import UnreadableStreamError
for name in sys.argv[1:]:
    try:
        outcome = sum(map(len, open_stream(name, ReaderOptions(attributes=("amount", "note"))).batches()))
    except UnreadableStreamError as error:
        outcome = str(error)
    print(json.dumps(outcome), flush=True)
"""


def table() -> pa.Table:
    columns = {
        "ts": pa.array(range(ROWS), pa.int64()),
        "src": pa.array([f"s{number:03}" for number in range(ROWS)]),
        "dst": pa.array([f"d{number:03}" for number in range(ROWS)], pa.large_string()),
        "label": pa.array(["k", "l"] * (ROWS // 2)).dictionary_encode(),
        "amount": pa.array([number / 2 for number in range(ROWS)]),
        "note": pa.array([None if number % 3 else f"n{number}" for number in range(ROWS)]),
        "unread": pa.array([[number] * (number % 3) for number in range(ROWS)]),
    }
    return pa.table(columns)


def arrow(written: pa.Table, *, stream: bool = True) -> bytes:
    sink = pa.BufferOutputStream()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, written.schema) as writer:
        writer.write_table(written, max_chunksize=16)
    return bytes(sink.getvalue())


def parquet(written: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(written, sink, compression="none")
    return bytes(sink.getvalue())


def match(tmp_path: Path, content: bytes) -> subprocess.CompletedProcess[str]:
    (tmp_path / "p.gtp").write_text(PATTERN)
    (tmp_path / "s.arrow").write_bytes(content)
    command = [sys.executable, "-m", "graphtide", "match", str(tmp_path / "p.gtp"), str(tmp_path / "s.arrow")]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("sound", "damaged"),
    [
        pytest.param(struct.pack("<3i", 4, 8, 12), struct.pack("<3i", 4, 2**31 - 1, 12), id="offsets of a text"),
        pytest.param(struct.pack("<3q", 4, 8, 12), struct.pack("<3q", 4, 2**62, 12), id="offsets of a large text"),
        pytest.param(
            struct.pack("<6i", 0, 1, 0, 1, 0, 1), struct.pack("<6i", 0, 1, 0, 2**30, 0, 1), id="codes of a dictionary"
        ),
        pytest.param(b"s003s004", b"s003\xff\xfe\xfd\xfc", id="a text that is not UTF-8"),
    ],
)
def test_values_that_lead_out_of_their_column_are_status_3(tmp_path: Path, sound: bytes, damaged: bytes) -> None:
    content = arrow(table())
    assert sound in content

    ended = match(tmp_path, content.replace(sound, damaged, 1))

    assert ended.returncode == 3, ended.stderr
    assert ended.stderr.startswith("graphtide: ")
    assert "Traceback" not in ended.stderr


def test_a_damaged_column_that_is_cut_into_blocks_is_status_3(tmp_path: Path) -> None:
    """What is cut is copied by what its offsets say."""
    rows = (1 << 16) + 1_000
    names = pa.array([f"v{number:07}" for number in range(rows)])
    long = pa.table({"ts": pa.array(range(rows)), "src": names, "dst": names, "label": names})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, long.schema) as writer:
        writer.write_table(long)
    content = bytes(sink.getvalue())
    sound, damaged = struct.pack("<2i", 8 << 16, (8 << 16) + 8), struct.pack("<2i", -(2**31), (8 << 16) + 8)
    assert sound in content

    ended = match(tmp_path, content.replace(sound, damaged, 1))

    assert ended.returncode == 3, ended.stderr


def test_columns_that_are_not_read_may_be_of_any_type(tmp_path: Path) -> None:
    numbers = pa.array(range(ROWS))
    union = pa.UnionArray.from_sparse(pa.array([0] * ROWS, pa.int8()), [numbers, numbers])
    dense = pa.UnionArray.from_dense(pa.array([0] * ROWS, pa.int8()), pa.array(range(ROWS), pa.int32()), [numbers])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([ROWS], pa.int32()), pa.array(["x"]))
    months = pa.array([(1, 2, 3)] * ROWS, pa.month_day_nano_interval())
    odd = table()
    for name, column in {"union": union, "dense": dense, "runs": runs, "months": months}.items():
        odd = odd.append_column(pa.field(name, column.type, nullable=name != "months"), column)

    ended = match(tmp_path, arrow(odd))

    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(ended.stdout.splitlines()) == len(match(tmp_path, arrow(table())).stdout.splitlines())


def test_a_column_of_a_type_that_it_cannot_have_is_named(tmp_path: Path) -> None:
    union = pa.UnionArray.from_sparse(pa.array([0] * ROWS, pa.int8()), [pa.array(range(ROWS))])
    path = tmp_path / "s.arrow"
    path.write_bytes(arrow(table().drop_columns(["ts"]).append_column("ts", union)))

    with pytest.raises(UnreadableStreamError, match="ts"):
        list(open_stream(path, ReaderOptions()).batches())


def damage(sound: bytes, rng: Random) -> bytes:
    content = bytearray(sound)
    for _ in range(rng.choice((1, 1, 2, 4))):
        place = rng.randrange(len(content))
        match rng.randrange(5):
            case 0:
                content[place] = rng.randrange(256)
            case 1:
                content[place] ^= 1 << rng.randrange(8)
            case 2:
                content[place : place + 8] = rng.choice((b"\xff" * 8, bytes(8), b"\xff\xff\xff\x7f\0\0\0\0"))
            case 3:
                del content[place : place + rng.randrange(1, 20)]
            case _:
                del content[max(1, place) :]
    return bytes(content)


def test_a_damaged_column_that_is_not_read_leads_nowhere(tmp_path: Path) -> None:
    content = arrow(table())
    sound = struct.pack("<4i", 0, 0, 1, 3)
    assert sound in content

    ended = match(tmp_path, content.replace(sound, struct.pack("<4i", 0, -(2**31), 1, 3), 1))

    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("suffix", ["arrow", "stream.arrow", "parquet"])
def test_for_any_damage_the_reader_says_so_or_reads_on(tmp_path: Path, suffix: str) -> None:
    sound = parquet(table()) if suffix == "parquet" else arrow(table(), stream="stream" in suffix)
    rng = Random(suffix)
    names = [tmp_path / f"{number}.{suffix}" for number in range(400)]
    for name in names:
        name.write_bytes(damage(sound, rng))

    command = [sys.executable, "-c", READER, *map(str, names)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert ended.returncode == 0, ended.stderr
    outcomes = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(outcomes) == len(names)
    refused = [outcome for outcome in outcomes if isinstance(outcome, str)]
    assert len(refused) > 100
    assert all(outcome.startswith(str(tmp_path)) and "\n" not in outcome for outcome in refused)
