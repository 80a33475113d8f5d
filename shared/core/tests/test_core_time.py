"""Durations meet a stream's unit exactly."""

from __future__ import annotations

from datetime import datetime

import pytest
from graphtide_core.time import DURATION_UNITS, MAX_EVENT_TIME, MIN_EVENT_TIME, Duration, TimeUnit, iso_time
from hypothesis import given, settings
from hypothesis import strategies as st

DURATIONS = st.builds(Duration, st.integers(0, 10**6), st.sampled_from([None, *DURATION_UNITS]))
TICKS = st.integers(-(10**15), 10**15)


@pytest.mark.parametrize(
    ("duration", "unit", "ticks"),
    [
        (Duration(10, "m"), TimeUnit.MILLISECOND, 600_000),
        (Duration(2, "w"), TimeUnit.SECOND, 1_209_600),
        (Duration(1500, "ms"), TimeUnit.SECOND, 2),
        (Duration(1, "ns"), TimeUnit.MICROSECOND, 1),
        (Duration(3), TimeUnit.SECOND, 3),
        (Duration(0, "d"), TimeUnit.NANOSECOND, 0),
    ],
)
def test_ticks_are_rounded_up(duration: Duration, unit: TimeUnit, ticks: int) -> None:
    assert duration.ticks_at_least(unit) == ticks


@settings(max_examples=max(100, settings().max_examples))
@given(DURATIONS, st.sampled_from(TimeUnit), TICKS)
def test_rounding_up_changes_no_half_open_window(duration: Duration, unit: TimeUnit, distance: int) -> None:
    for apart in (distance, duration.ticks_at_least(unit), duration.ticks_at_least(unit) - 1):
        assert (apart < duration.ticks(unit)) == (apart < duration.ticks_at_least(unit))


def test_durations_are_written_as_they_are_read() -> None:
    assert [str(Duration(10, unit)) for unit in (None, "m", "us")] == ["10", "10m", "10us"]


def test_unknown_units_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown unit of time 'y'; one of ns, us, ms, s, m, h, d, w"):
        Duration(1, "y")


def test_negative_durations_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        Duration(-1, "s")


def test_units_know_their_length() -> None:
    assert [unit.nanoseconds for unit in TimeUnit] == [10**9, 10**6, 10**3, 1]


@pytest.mark.parametrize(
    ("ts", "unit", "shown"),
    [
        (1_706_702_400, TimeUnit.SECOND, "2024-01-31T12:00:00Z"),
        (1_706_702_400_000, TimeUnit.MILLISECOND, "2024-01-31T12:00:00Z"),
        (1_706_702_400_250, TimeUnit.MILLISECOND, "2024-01-31T12:00:00.250Z"),
        (7, TimeUnit.MICROSECOND, "1970-01-01T00:00:00.000007Z"),
        (-1, TimeUnit.NANOSECOND, "1969-12-31T23:59:59.999999999Z"),
        (MAX_EVENT_TIME, TimeUnit.NANOSECOND, "2262-04-11T23:47:16.854775807Z"),
        (MAX_EVENT_TIME, TimeUnit.MILLISECOND, str(MAX_EVENT_TIME)),
        (MIN_EVENT_TIME, TimeUnit.SECOND, str(MIN_EVENT_TIME)),
        (-62_135_596_801, TimeUnit.SECOND, "-62135596801"),
    ],
)
def test_times_are_shown_as_iso_where_it_has_them(ts: int, unit: TimeUnit, shown: str) -> None:
    assert iso_time(ts, unit) == shown


@settings(max_examples=max(100, settings().max_examples))
@given(st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999), st.sampled_from([TimeUnit.SECOND, TimeUnit.MICROSECOND]))
def test_a_time_that_is_shown_is_read_back(microseconds: int, unit: TimeUnit) -> None:
    ts = microseconds * 1_000 // unit.nanoseconds
    moment = datetime.fromisoformat(iso_time(ts, unit))
    since = moment - datetime.fromisoformat("1970-01-01T00:00:00Z")
    assert (since.days * 86_400 + since.seconds) * 10**6 + since.microseconds == ts * unit.nanoseconds // 1_000
