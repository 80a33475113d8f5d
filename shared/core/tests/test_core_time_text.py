"""Times as texts are read exactly, or not at all."""

from __future__ import annotations

import pytest
from graphtide_core.time import TimeUnit
from graphtide_core.time_text import instant_of, ticks_alone


@pytest.mark.parametrize(
    ("text", "unit", "ticks"),
    [
        ("6500", "ms", 6500),
        ("-5", "s", -5),
        ("1970-01-01T00:00:01Z", "ms", 1000),
        ("1970-01-01 00:00:01.5", "ms", 1500),
        ("1970-01-01T01:00:00+01:00", "ns", 0),
        ("1969-12-31T23:59:59.999999999Z", "ns", -1),
    ],
)
def test_a_number_is_ticks_and_a_date_is_those_of_a_unit(text: str, unit: str, ticks: int) -> None:
    assert instant_of(text, TimeUnit(unit)) == ticks


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a time of a stream"),
        ("soon", "not a time of a stream"),
        ("1.5", "not a time of a stream"),
        ("\u0665", "not a time of a stream"),
        ("9223372036854775808", "not a time of a stream"),
        ("2024-02-30T00:00:00Z", "not a time of a stream"),
        ("9999-12-31T00:00:00Z", "not a time of a stream"),
        ("1970-01-01T00:00:00.0000000001Z", "not a whole number of ns"),
    ],
)
def test_what_is_no_time_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        instant_of(text, TimeUnit.NANOSECOND)
    assert ticks_alone(text) is None
