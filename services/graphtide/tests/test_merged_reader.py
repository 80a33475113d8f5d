"""Streams by name as one: how far time has come, by dropped duplicates too."""

from __future__ import annotations

from itertools import pairwise

import pytest
from graphtide.readers import ReaderOptions, from_edges
from graphtide.readers.merged import MergedReader, Ordering
from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_native.records import Symbols


def record(ts: int, id: str) -> dict[str, object]:
    return {"ts": ts, "src": "a", "dst": "b", "label": "x", "id": id}


@pytest.fixture(params=[False, True], ids=["at once", "one by one"])
def live(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def merge(live: bool, **streams: list[tuple[int, str]]) -> list[tuple[list[int], int | None]]:
    """Return the times of each batch, and the time that had come with it; records come at once or one by one."""
    symbols = Symbols()
    options = ReaderOptions(symbols=symbols, live=live)
    readers = {name: from_edges(iter([record(*each) for each in records]), options) for name, records in streams.items()}
    merged = MergedReader(
        readers,
        Ordering(
            dict.fromkeys(streams, 0), 1_000, dict.fromkeys(streams, 1_000), dict.fromkeys(streams, DuplicatePolicy.REJECT)
        ),
        symbols,
    )
    return [(batch.ts, merged.passed) for batch in merged.batches()]


def test_a_dropped_duplicate_of_one_stream_moves_time_as_far_as_the_others_allow(live: bool) -> None:
    found = merge(live, one=[(1, "i"), (50, "i"), (95, "z")], other=[(60, "j"), (90, "k")])
    if live:
        assert ([], 50) in found, "no record before it follows, and none is at hand"
    assert found[-1] == ([], 95)


def test_a_duplicate_at_the_end_of_all_moves_time(live: bool) -> None:
    assert merge(live, one=[(1, "i"), (50, "i")], other=[(2, "j")])[-1] == ([], 50)
    assert merge(live, one=[(1, "i"), (3, "k"), (50, "i"), (60, "k")], other=[(2, "j")])[-1] == ([], 60)


def test_records_are_never_before_the_time_that_has_come(live: bool) -> None:
    found = merge(
        live,
        one=[(ts, f"i{ts % 3}") for ts in range(0, 40, 2)],
        other=[(ts, f"j{ts % 4}") for ts in range(1, 60, 5)],
        third=[(7, "k"), (7, "k"), (58, "k")],
    )
    times = [time for _, time in found if time is not None]
    assert times == sorted(times)
    for (_, time), (records, _) in pairwise(found):
        assert time is None or all(ts >= time for ts in records)
    assert times[-1] == 58
