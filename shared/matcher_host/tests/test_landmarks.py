"""Landmarks lead to where a lookback begins, or before, and never past it."""

from __future__ import annotations

from random import Random

from graphtide_log.window_log import Instant
from graphtide_matcher_host.landmarks import MOST, Landmarks
from hypothesis import given
from hypothesis import strategies as st


@given(seed=st.integers(0, 2**32))
def test_no_record_of_a_lookback_is_missed(seed: int) -> None:
    rng = Random(seed)
    landmarks, records = Landmarks(), list[tuple[int, Instant]]()
    offset, epoch, ts = rng.randrange(5), 0, 0
    for _ in range(rng.choice((3, 40, 12 * MOST))):
        # Marks of transactions lie between.
        offset += rng.randint(1, 3)
        if rng.random() < 0.02:
            epoch, ts = epoch + 1, 0
        ts += rng.choice((0, 0, 1, 7))
        records.append((offset, Instant(epoch, ts)))
        landmarks.note(offset + 1, records[-1][1])
    for _ in range(20):
        end, window = rng.randint(0, offset + 1), rng.randint(1, ts + 2)
        found = landmarks.replay_start(end, window)
        before = [instant for at, instant in records if at < end]
        if found is None:
            continue
        passed_over = [instant for at, instant in records if at < found.start]
        assert all(instant < before[-1].back(window) for instant in passed_over)
        assert found.epoch == passed_over[-1].epoch


def test_there_are_few_of_them_and_they_are_the_denser_the_nearer() -> None:
    landmarks, end = Landmarks(), 100_000
    for number in range(end):
        landmarks.note(number + 1, Instant(0, number))
    assert len(landmarks) < 15 * MOST
    for window in (1, 100, 1_000, 10_000, 50_000, end - 10):
        found = landmarks.replay_start(end, window)
        assert found is not None
        begin = end - window
        # Little more is read than the window.
        assert begin - window // 8 - 4 <= found.start <= begin
    assert landmarks.replay_start(end, end + 1) is None
