"""A reader that works ahead gives what the reader gives that it has, and ends when it is closed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from graphtide.readers import ReaderOptions, open_stream
from graphtide.readers.ahead import AheadReader, read_ahead
from graphtide.readers.memory import from_edges
from graphtide_core.errors import UnreadableStreamError
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

    from graphtide.readers import Reader

LINES = st.lists(st.sampled_from(["1,a,b,x,7", "2,a,b,x,y", "soon,a,b,x,1", "3,a", "4,c,d,y,"]), max_size=30)


def collect(reader: Reader) -> list[object]:
    """The batches of a reader and its report after each."""
    found: list[object] = [(reader.records, reader.columns, reader.bytes_read)]
    for batch in reader.batches():
        letters = [(letter.line, letter.reason) for letter in reader.take_dead_letters()]
        found.append((batch.to_records(), letters, reader.records, reader.columns, reader.has_ids, reader.bytes_read))
    found.append((reader.take_dead_letters(), reader.records, reader.settled, reader.unusable_values, reader.bytes_total))
    return found


@given(lines=LINES, block=st.integers(30, 120))
def test_it_gives_the_same_batch_by_batch(tmp_path_factory: pytest.TempPathFactory, lines: list[str], block: int) -> None:
    path = tmp_path_factory.mktemp("s") / "s.csv"
    path.write_text("\n".join(["ts,src,dst,label,n", *lines, ""]))
    options = ReaderOptions(attributes=("n",), block_size=block)
    assert collect(AheadReader(open_stream(path, options))) == collect(open_stream(path, options))


def test_what_breaks_the_stream_off_comes_after_what_came_before(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("src,dst\na,b\n")
    with pytest.raises(UnreadableStreamError, match="ts"):
        list(AheadReader(open_stream(tmp_path / "s.csv")).batches())


def test_closing_it_early_ends_its_thread(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,src,dst,label\n" + "1,a,b,x\n" * 10_000)
    reader = read_ahead(open_stream(tmp_path / "s.csv", ReaderOptions(block_size=1000)))
    batches = reader.batches()
    assert len(next(batches))
    assert "reader" in {thread.name for thread in threading.enumerate()}
    reader.close()
    assert "reader" not in {thread.name for thread in threading.enumerate()}


def test_it_waits_until_many_rejected_records_were_taken(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,src,dst,label\n" + ("1,a,b,x\n" + "a\n" * 100_000) * 3)
    reader = open_stream(tmp_path / "s.csv", ReaderOptions(block_size=1 << 18))
    ahead = AheadReader(reader)
    batches = ahead.batches()
    next(batches)
    seen = ahead.records
    assert len(ahead.take_dead_letters()) > 100_000
    ahead.close()
    assert reader.records == seen
    again = collect(AheadReader(open_stream(tmp_path / "s.csv", ReaderOptions(block_size=1 << 18))))
    assert again == collect(open_stream(tmp_path / "s.csv", ReaderOptions(block_size=1 << 18)))


def test_only_files_are_read_ahead() -> None:
    reader = from_edges([])
    assert read_ahead(reader) is reader
