"""How far a batch reads."""

from __future__ import annotations

import msgspec
from graphtide_preprocess.application.offsets import Found, Offsets, Pace, following

PACE = Pace(most_records=100, most_bytes=1000, idle_milliseconds=400)


def test_a_batch_reads_to_the_end_if_that_is_not_too_much() -> None:
    start = Offsets({"0": 10, "1": 0}, patterns=1, at=1000, as_of=1000, heard=900)
    found = following(start, Found({"0": 30, "1": 5}, 2, at=1990), 2000, PACE, {})
    assert found == Offsets({"0": 30, "1": 5}, 2, at=2000, as_of=1990, heard=2000)
    assert found.is_complete


def test_every_partition_gets_its_share_of_a_batch_that_is_full() -> None:
    found = following(Offsets({"0": 0, "1": 0}), Found({"0": 1000, "1": 10}, 0, at=5), 5, PACE, {})
    assert (found.raw, found.target) == ({"0": 99, "1": 1}, {"0": 1000, "1": 10})


def test_large_records_make_batches_of_fewer() -> None:
    found = following(Offsets({"0": 0}), Found({"0": 90}, 0, at=5), 5, PACE, {"0": 100})
    assert found.raw == {"0": 10}


def test_a_partition_that_was_added_is_read_from_its_begin() -> None:
    assert following(Offsets({"0": 7}), Found({"0": 7, "1": 3}, 0, at=5), 5, PACE, {}).raw == {"0": 7, "1": 3}


def test_time_does_not_go_back() -> None:
    found = following(Offsets({"0": 0}, at=500, as_of=490), Found({"0": 1}, 0, at=90), 100, PACE, {})
    assert (found.at, found.as_of) == (500, 490)


def test_the_clock_of_the_log_stands_until_all_that_was_there_has_been_read() -> None:
    offsets, seen = Offsets({"0": 0}), []
    for now in range(1000, 5000, 1000):
        # A hundred records come in the time of each batch, as many as it may read.
        offsets = following(offsets, Found({"0": 150 + now // 10}, 0, at=now - 1), now, PACE, {})
        seen.append((offsets.raw["0"], offsets.as_of, offsets.is_complete))
    assert seen == [(100, 0, False), (200, 0, False), (300, 999, True), (400, 999, False)]


def test_while_nothing_comes_time_passes_until_silent_sources_are_not_waited_for() -> None:
    offsets, instants = Offsets({"0": 5}, at=1000, as_of=1000, heard=1000), []
    for now in range(1000, 3000, 10):
        found = following(offsets, Found({"0": 5}, 0, at=now), now, PACE, {})
        if found != offsets:
            instants.append(now)
            assert found == msgspec.structs.replace(offsets, at=now, as_of=now)
        offsets = found
    assert instants == [1100, 1200, 1300, 1400]


def test_before_the_first_record_nothing_happens() -> None:
    start = Offsets({"0": 0})
    assert following(start, Found({"0": 0}, 0, at=10_000), 10_000, PACE, {}) is start
