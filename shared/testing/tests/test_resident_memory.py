"""The measurement of resident memory finds growth, in lives that are long enough, and calls nothing else growth."""

from __future__ import annotations

from random import Random

import pytest
from graphtide_testing.resident_memory import Lives, Patience, Sample, slope

MB = 1_000_000
QUICK = Patience(warm_seconds=100, measured_seconds=200)


def samples(seconds: int, size: float, growth: float, noise: float = 0.0) -> list[Sample]:
    """Return a sample every 5 seconds of what grows by a share of its first size in ten minutes."""
    chance = Random(1)
    return [
        Sample(float(at), int(size * (1 + growth * at / 600 + chance.uniform(-noise, noise)))) for at in range(0, seconds, 5)
    ]


@pytest.mark.parametrize("growth", [0.1, 0.01, 0.0, -0.02])
def test_steady_growth_is_measured_as_it_is(growth: float) -> None:
    # It counts from the middle of what is measured, not from its first size.
    assert slope(samples(600, 100 * MB, growth)) == pytest.approx(growth / (1 + growth / 2), rel=0.02, abs=1e-6)


def test_noise_of_some_percent_over_half_an_hour_is_not_a_leak_of_one() -> None:
    assert abs(slope(samples(1_800, 100 * MB, 0.0, noise=0.03))) < 0.003
    assert slope(samples(1_800, 100 * MB, 0.01, noise=0.03)) > 0.007


def test_what_is_given_back_is_no_growth_and_what_is_kept_after_a_peak_is() -> None:
    flat = samples(1_800, 100 * MB, 0.0)
    middle = len(flat) // 2
    peak = [Sample(each.at, each.resident_bytes + 10 * MB * (abs(place - middle) < 6)) for place, each in enumerate(flat)]
    step = [Sample(each.at, each.resident_bytes + 5 * MB * (place >= middle)) for place, each in enumerate(flat)]
    assert abs(slope(peak)) < 0.001
    assert slope(step) > 0.01


def test_growth_before_a_process_is_warm_is_not_measured_and_growth_after_it_is() -> None:
    lives = Lives()
    for at in range(0, 400, 5):
        lives.add(1, Sample(float(at), 50 * MB + (at * MB if at < 100 else 100 * MB)))
    (measured,) = lives.measured_lives(QUICK)
    assert (measured[0].at, measured[-1].at, slope(measured)) == (100.0, 395.0, 0.0)


def test_lives_are_measured_one_by_one_and_short_ones_are_not() -> None:
    lives = Lives()
    for life, begin, end in ((1, 0, 250), (2, 250, 600), (4, 600, 1_000)):
        for at in range(begin, end, 5):
            lives.add(life, Sample(float(at), life * MB))
    assert [{each.resident_bytes for each in measured} for measured in lives.measured_lives(QUICK)] == [{2 * MB}, {4 * MB}]
