"""Slices hold about equal numbers of edges, are long against the window, and never cut one time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from graphtide_backfill.domain.profile import ENTRIES, join, profile_of
from graphtide_backfill.domain.sizing import (
    BASE_BYTES,
    BYTES_AN_EDGE,
    MOST_EDGES,
    Machine,
    cut_by_length,
    cut_evenly,
    estimate_size,
)
from graphtide_backfill.domain.slices import slices_at
from graphtide_core.errors import FatalError
from hypothesis import given
from hypothesis import strategies as st

BIG = Machine(2, 8 << 30)
TIMES = st.lists(st.integers(-500, 500), min_size=1, max_size=200).map(lambda times: np.array(times, np.int64))


@given(TIMES, st.integers(1, 300), st.booleans())
def test_slices_follow_each_other_from_the_start_to_the_end(
    times: np.ndarray[tuple[int], np.dtype[np.int64]], window: int, in_order: bool
) -> None:
    slices = slices_at(cut_evenly(profile_of(times), -600, 600, window, BIG, in_order=in_order))
    assert (slices[0].start, slices[-1].end) == (-600, 600)
    assert all(one.end == other.start for one, other in itertools.pairwise(slices))
    assert all(each.start < each.end for each in slices)


def test_even_history_is_cut_into_three_slices_a_core() -> None:
    profile = profile_of(np.arange(12_000))
    slices = slices_at(cut_evenly(profile, 0, 12_000, 10, BIG, in_order=True))
    assert [profile.between(each.start, each.end).total for each in slices] == pytest.approx(
        [2000] * 6, abs=3 + 12_000 / ENTRIES
    )


def test_slices_are_long_against_a_long_window() -> None:
    profile = profile_of(np.arange(12_000))
    assert len(slices_at(cut_evenly(profile, 0, 12_000, 700, BIG, in_order=True))) == 4
    assert len(slices_at(cut_evenly(profile, 0, 12_000, 5_000, BIG, in_order=True))) == 2
    assert len(slices_at(cut_evenly(profile, 0, 12_000, 50_000, BIG, in_order=True))) == 1


def test_dense_times_are_cut_finely_down_to_one_time() -> None:
    times = np.concatenate([np.arange(0, 1_000), np.full(6_000, 500), np.full(6_000, 501)])
    slices = slices_at(cut_evenly(profile_of(times), 0, 1_000, 1, BIG, in_order=True))
    assert any((each.start, each.end) == (501, 502) for each in slices)


def test_history_out_of_order_is_cut_so_that_a_slice_can_be_held() -> None:
    profile = profile_of(np.arange(100_000))
    small = Machine(2, BASE_BYTES + 10_000 * BYTES_AN_EDGE)
    assert len(slices_at(cut_evenly(profile, 0, 100_000, 1, small, in_order=True))) == 6
    assert len(slices_at(cut_evenly(profile, 0, 100_000, 1, small, in_order=False))) >= 10


def test_a_slice_loses_no_more_than_it_may() -> None:
    profile = join([profile_of(np.repeat(np.arange(1000) + 1000 * part, 10_000)) for part in range(8)])
    assert len(slices_at(cut_evenly(profile, 0, 8_000, 1, BIG, in_order=True))) == 80_000_000 // MOST_EDGES


def test_the_estimate_counts_what_is_looked_at_again_and_the_densest_window() -> None:
    times = np.concatenate([np.arange(0, 1000), np.full(50, 300)])
    profile = profile_of(times)
    estimate = estimate_size(profile, cut_by_length(0, 1000, 250), 20)
    assert estimate.edges == 1050
    assert estimate.repeated == 3 * 19
    assert (estimate.densest_ts, estimate.densest_edges) == (300, 70)


def test_too_many_slices_are_refused() -> None:
    with pytest.raises(FatalError, match="more than 20000"):
        cut_by_length(0, 1_000_000, 10)


@given(st.lists(TIMES, min_size=1, max_size=6), st.integers(1, 400))
def test_joined_profiles_count_every_edge_and_no_window_too_low(
    parts: list[np.ndarray[tuple[int], np.dtype[np.int64]]], window: int
) -> None:
    profile = join(profile_of(part) for part in parts)
    times = np.sort(np.concatenate(parts))
    densest = max(int(((times > now - window) & (times <= now)).sum()) for now in times)
    assert profile.total == len(times)
    assert profile.densest(window)[1] == densest


def test_a_thinned_profile_keeps_heavy_times_and_misplaces_little() -> None:
    rng = np.random.default_rng(3)
    times = np.concatenate([rng.integers(0, 10_000_000, 400_000), np.full(100_000, 123_456)])
    profile = join([profile_of(times[:250_000]), profile_of(times[250_000:])])
    assert len(profile.times) <= 3 * ENTRIES
    place = int(np.searchsorted(profile.times, 123_456))
    assert profile.times[place] == 123_456
    assert profile.edges[place] >= 100_000
    half = int(profile.edges[profile.times < 5_000_000].sum())
    assert half == pytest.approx(int((times < 5_000_000).sum()), abs=4 * len(times) / ENTRIES)
