"""Sequencer and duplicate filter through Python, against slow and obvious ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_native.records import CsvDecoder, Duplicates, JsonLinesDecoder, Sequencer, Symbols, take_dead_letters
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_native.records import EdgeBatch


def batches(rows: list[str], step: int, *, keep_raw: bool = True) -> Iterator[EdgeBatch]:
    decoder = CsvDecoder(Symbols(), ["n"], {}, keep_raw=keep_raw)
    decoder.decode(b"ts,src,dst,label,id,op,n\n")
    for start in range(0, len(rows), step):
        yield decoder.decode("".join(row + "\n" for row in rows[start : start + step]).encode())


def sequence_times(times: list[int], lateness: int, max_pending: int) -> tuple[list[int], list[int]]:
    """Return the ordinals in the order of their release, and those that are late."""
    waiting: list[tuple[int, int]] = []
    released: list[int] = []
    late: list[int] = []
    newest = floor = -(2**70)
    for ordinal, ts in enumerate(times):
        if ts < max(newest - lateness, floor):
            late.append(ordinal)
            continue
        newest = max(newest, ts)
        waiting = sorted([*waiting, (ts, ordinal)])
        while waiting and (waiting[0][0] <= newest - lateness or len(waiting) > max_pending):
            floor = max(floor, waiting[0][0])
            released.append(waiting.pop(0)[1])
    return released + [ordinal for _, ordinal in waiting], late


@given(
    st.lists(st.integers(0, 20) | st.integers(-(2**63), 2**63 - 1), max_size=40),
    st.sampled_from([0, 1, 5, 2**63 - 1]),
    st.sampled_from([0, 2, 7, 1000]),
    st.integers(1, 9),
)
def test_random_disorder_with_ties_comes_out_in_order(times: list[int], lateness: int, max_pending: int, step: int) -> None:
    sequencer = Sequencer(lateness, max_pending)
    released = []
    for batch in batches([f"{ts},a,b,c,,,{place}" for place, ts in enumerate(times)], step):
        released += sequencer.push(batch).to_records()
        assert sequencer.pending <= max_pending
    last = sequencer.finish()
    released += last.to_records() if last else []

    expected, late = sequence_times(times, lateness, max_pending)
    assert [(r["ordinal"], r["attributes"]["n"]) for r in released] == [(place, place) for place in expected]
    assert [r["ts"] for r in released] == sorted(r["ts"] for r in released)
    assert [letter.line - 2 for letter in take_dead_letters(sequencer)] == late
    assert sequencer.late == len(late)


def test_a_late_record_keeps_its_bytes_or_its_fields() -> None:
    for keep_raw, raw in [
        (True, b'3,"a",b,c,x,,1.5'),
        (False, b'{"ts":3,"src":"a","dst":"b","id":"x","label":"c","n":1.5}'),
    ]:
        sequencer = Sequencer()
        (batch,) = batches(["5,a,b,c,,,", '3,"a",b,c,x,,1.5'], 2, keep_raw=keep_raw)
        assert sequencer.push(batch).ts == [5]
        assert sequencer.take_dead_letters() == [(3, "late: ts 3 is before the watermark 5 (lateness 0)", raw)]
        assert sequencer.watermark == 5


def test_a_full_buffer_lets_the_oldest_go_and_says_so_of_what_comes_after() -> None:
    sequencer = Sequencer(100, 1)
    (batch,) = batches(["5,a,b,c,,,", "7,a,b,c,,,", "4,a,b,c,,,"], 3)
    assert sequencer.push(batch).ts == [5]
    assert (sequencer.forced, sequencer.late, sequencer.pending) == (1, 1, 1)
    reason = "late: ts 4 is before 5, up to where a full buffer was released early (lateness 100)"
    assert sequencer.take_dead_letters() == [(4, reason, b"4,a,b,c,,,")]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30)), max_size=40),
    st.sampled_from([0, 1, 5]),
)
def test_the_slowest_producer_bounds_the_watermark(arrivals: list[tuple[str, int]], lateness: int) -> None:
    """The rule by hand: what is at or below the slowest of those seen, less the lateness, goes, and time never goes back."""
    sequencer = Sequencer(lateness)
    progress: dict[str, int] = {}
    released, late, waiting, reached = [], [], list[tuple[int, int]](), -(2**70)
    expected = []
    for place, ((producer, ts), batch) in enumerate(
        zip(arrivals, batches([f"{ts},a,b,c,,," for _, ts in arrivals], 1), strict=True)
    ):
        progress[producer] = max(progress.get(producer, ts), ts)
        for part in (sequencer.advance(min(progress.values())), sequencer.push(batch)):
            released += [r["ordinal"] for r in part.to_records()] if part else []
        newest = max([t for t, _ in waiting] + [t for _, t in arrivals[:place]], default=-(2**70))
        reached = max(reached, min(newest, *progress.values()) - lateness)
        due, waiting = [w for w in waiting if w[0] <= reached], [w for w in waiting if w[0] > reached]
        expected += [p for _, p in sorted(due)]
        if ts < reached:
            late.append(place)
            continue
        reached = max(reached, min(max(newest, ts), *progress.values()) - lateness)
        waiting.append((ts, place))
        due, waiting = [w for w in waiting if w[0] <= reached], [w for w in waiting if w[0] > reached]
        expected += [p for _, p in sorted(due)]
    assert released == expected
    assert [letter.line - 2 for letter in take_dead_letters(sequencer)] == late
    assert sequencer.pending == len(waiting)


def test_a_batch_in_order_is_the_same_object() -> None:
    sequencer, duplicates = Sequencer(), Duplicates(100)
    (batch,) = batches(["5,a,b,c,,,", "5,a,b,c,,,"], 2)
    assert sequencer.push(batch) is batch
    assert duplicates.filter(batch) is batch
    assert sequencer.push(next(batches(["4,a,b,c,,,"], 1))) is not batch


def test_a_sequencer_without_records_has_nothing_to_finish() -> None:
    assert Sequencer().finish() is None


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.sampled_from(["", "", "1", "3", "007", "x", "ü"]), st.sampled_from(["", "", "", "delete"])
        ),
        max_size=30,
    ),
    st.integers(0, 8),
    st.integers(1, 7),
)
def test_ids_repeated_within_the_window_are_dropped(rows: list[tuple[int, str, str]], window: int, step: int) -> None:
    lines: list[str] = []
    expected: list[int] = []
    passed: list[tuple[int, str]] = []
    ts = 0
    for ordinal, (wait, given_id, op) in enumerate(rows):
        ts += wait
        operation = op if given_id else ""
        lines.append(f"{ts},a,b,c,{given_id},{operation},")
        if operation == "delete":
            passed = [(first, other) for first, other in passed if other != given_id]
        elif any(other == given_id and first > ts - window for first, other in passed):
            continue
        elif given_id:
            passed.append((ts, given_id))
        expected.append(ordinal)
    duplicates = Duplicates(window)
    kept = [ordinal for batch in batches(lines, step) for ordinal in duplicates.filter(batch).ordinals]
    assert kept == expected
    assert duplicates.dropped == len(rows) - len(expected)


def test_an_id_that_reads_like_one_made_for_an_earlier_record_is_no_duplicate() -> None:
    decoder, duplicates = JsonLinesDecoder(Symbols(), [], {}), Duplicates(10)
    record = b'{"ts":1,"src":"a","dst":"b","label":"c"%s}\n'
    assert duplicates.filter(decoder.decode(record % b"" + record % b"")).ordinals == [0, 1]
    assert duplicates.filter(decoder.decode(record % b',"id":1' + record % b',"id":"1"')).ordinals == [2]
