"""Times as streams write them: what Python makes of numbers, of ISO 8601 and of formats of strptime, exactly, in any zone."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.time import MAX_EVENT_TIME, MIN_EVENT_TIME, TimeUnit
from graphtide_native.record_form import EPOCHS, RecordForm, refuse_unknown_time_format, time_form, zone_of
from graphtide_native.records import ArrowDecoder, CsvDecoder, JsonLinesDecoder, Symbols, ticks_per_second
from hypothesis import example, given
from hypothesis import strategies as st

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = (datetime.fromisoformat(day) for day in ("1900-01-02", "2099-12-30"))
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Africa/Casablanca", "-03:30"]
FORMATS = [
    "%m/%d/%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d/%b/%Y:%H:%M:%S %z",
    "%A, %d %B %Y %I:%M:%S %p",
    "%a %d-%b-%y %H.%M.%S.%f",
    "%Y%m%dT%H%M%S%f",
    "%Y-%j %H:%M",
    "100%% %Y/%m/%d",
]
units = st.sampled_from(list(TimeUnit))
zones = st.sampled_from(ZONES)
moments = st.datetimes(FIRST, LAST)


def csv_time(text: str, written: str, unit: TimeUnit, zone: str | None = None) -> int | str:
    """Return the time that CSV has by this text, or the reason why it has none."""
    decoder = CsvDecoder(Symbols(), [], {}, "|", form=RecordForm(times=time_form(written, zone, unit)))
    rows = [*decoder.decode(f"ts|src|dst|label\n{text}|a|b|x\n".encode()).to_records(), *decoder.finish().to_records()]
    letters = decoder.take_dead_letters()
    return rows[0]["ts"] if rows else letters[0][1]


def json_time(value: str, written: str, unit: TimeUnit, zone: str | None = None) -> int | str:
    decoder = JsonLinesDecoder(Symbols(), [], {}, form=RecordForm(times=time_form(written, zone, unit)))
    rows = decoder.decode(f'{{"src":"a","ts": {value},"dst":"b","label":"x"}}\n'.encode()).to_records()
    return rows[0]["ts"] if rows else decoder.take_dead_letters()[0][1]


def floor(nanoseconds: Fraction, unit: TimeUnit) -> int | None:
    ticks = nanoseconds / unit.nanoseconds
    whole = ticks.numerator // ticks.denominator
    return whole if MIN_EVENT_TIME <= whole <= MAX_EVENT_TIME else None


def nanoseconds(moment: datetime, zone: str = "UTC") -> Fraction:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=zone_of(zone))
    since = aware.astimezone(UTC) - EPOCH
    return Fraction((since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1_000)


@given(
    number=st.decimals(allow_nan=False, allow_infinity=False, places=None, min_value=-(10**20), max_value=10**20),
    written=st.sampled_from(EPOCHS),
    unit=units,
)
@example(number=Decimal("1521911721.258458"), written="s", unit=TimeUnit.MICROSECOND)
def test_a_number_is_the_decimal_that_it_says_rounded_down(number: Decimal, written: str, unit: TimeUnit) -> None:
    expected = floor(Fraction(number) * TimeUnit(written).nanoseconds, unit)
    shown = format(number, "f")
    assert csv_time(shown, written, unit) == (f'ts "{shown}" does not fit in 64 bits' if expected is None else expected)
    if "." not in shown.lstrip("-")[:1] and expected is not None:
        assert json_time(shown, written, unit) == expected
        assert json_time(json.dumps(shown), written, unit) == expected
    assert csv_time(str(number), written, unit) == csv_time(shown, written, unit), "with an exponent"


@given(
    moment=moments,
    unit=units,
    zone=zones,
    own=st.none() | st.integers(-23 * 60, 23 * 60),
    fraction=st.text("0123456789", max_size=12),
    between=st.sampled_from("T t"),
    point=st.sampled_from(".,"),
)
def test_a_date_of_iso_8601_is_what_datetime_reads(
    *, moment: datetime, unit: TimeUnit, zone: str, own: int | None, fraction: str, between: str, point: str
) -> None:
    moment = moment.replace(microsecond=0)
    aware = moment if own is None else moment.replace(tzinfo=timezone(timedelta(minutes=own)))
    head, tail = aware.isoformat()[:19], aware.isoformat()[19:]
    text = head.replace("T", between) + (f"{point}{fraction}" if fraction else "") + tail
    rest = Fraction(int(fraction), 10 ** len(fraction)) * 10**9 if fraction else Fraction(0)
    expected = floor(nanoseconds(aware, zone) + rest, unit)
    assert csv_time(text, "iso", unit, zone) == expected
    assert json_time(json.dumps(text), "iso", unit, zone) == expected
    if tail == "+00:00":
        assert csv_time(text[: -len(tail)] + "Z", "iso", unit, zone) == expected


@given(moment=moments, written=st.sampled_from(FORMATS), unit=units, zone=zones, strip=st.booleans())
def test_a_format_reads_what_strptime_reads(*, moment: datetime, written: str, unit: TimeUnit, zone: str, strip: bool) -> None:
    text = moment.replace(tzinfo=UTC).strftime(written)
    if strip:
        text = text.replace("/0", "/").replace(" 0", " ")
    expected = datetime.strptime(text, written)  # noqa: DTZ007 - it may have none
    assert csv_time(text, written, unit, zone) == floor(nanoseconds(expected, zone), unit)


@given(text=st.text("0123456789/: aApPmM", max_size=16), written=st.sampled_from(FORMATS[:2]))
def test_what_strptime_refuses_is_refused(text: str, written: str) -> None:
    try:
        expected: datetime | None = datetime.strptime(text, written)  # noqa: DTZ007 - as above
    except ValueError:
        expected = None
    found = csv_time(text, written, TimeUnit.SECOND)
    if isinstance(found, int):
        assert expected is not None
        assert found == floor(nanoseconds(expected), TimeUnit.SECOND)
    elif expected is not None:
        # The regular expressions of strptime take a part of a number where the whole is none: 1/35/2024 never is one of ours.
        assert "is not a time of the format" in found


@given(zone=st.sampled_from(ZONES[1:6]), moment=moments, around=st.integers(-7_200, 7_200))
def test_clocks_that_are_put_back_or_forward_show_what_python_makes_of_them(zone: str, moment: datetime, around: int) -> None:
    known = ZoneInfo(zone)
    form = time_form("iso", zone, TimeUnit.SECOND)
    assert form is not None
    change = min((clock for clock, _ in form.changes), key=lambda clock: abs(clock - nanoseconds(moment) / 10**9))
    local = EPOCH.replace(tzinfo=None) + timedelta(seconds=change + around)
    if not FIRST < local < LAST:
        return
    expected = floor(nanoseconds(local.replace(tzinfo=known)), TimeUnit.SECOND)
    assert csv_time(local.isoformat(), "iso", TimeUnit.SECOND, zone) == expected


def test_a_date_without_a_time_of_day_is_its_midnight() -> None:
    assert csv_time("2024-01-31", "iso", TimeUnit.SECOND, "+02:00") == 1_706_652_000
    assert csv_time("2024-02-30", "iso", TimeUnit.SECOND) == (
        'ts "2024-02-30" is not a date and time such as 2024-01-31T12:00:00Z'
    )


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("true", 'ts "true" is not {}'),
        ("[1]", 'ts "a list or object" is not {}'),
        ('""', "ts is empty"),
        ("null", "ts is missing"),
    ],
)
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("s", "a number"),
        ("iso", "a date and time such as 2024-01-31T12:00:00Z"),
        ("%d.%m.%Y", 'a time of the format "%d.%m.%Y"'),
    ],
)
def test_a_value_of_json_that_is_no_time_is_refused_with_what_was_expected(
    value: str, reason: str, written: str, expected: str
) -> None:
    assert json_time(value, written, TimeUnit.SECOND) == reason.format(expected)


def test_years_past_those_of_a_zone_are_rejected_and_those_of_an_offset_are_not() -> None:
    assert csv_time("2100-01-02", "iso", TimeUnit.SECOND, "Europe/Berlin") == (
        'ts "2100-01-02" is outside the years for which the clocks of its time zone are known'
    )
    assert csv_time("9999-12-31", "iso", TimeUnit.SECOND) == 253_402_214_400


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("2024-01-31T12:00:00Z", "; the time format iso reads it"),
        ("2024-01-31 12:00", "; the time format iso reads it"),
        ("1521911721.258458", "; the time format s reads such seconds"),
        ("1.5", ""),
        ("noon", ""),
    ],
)
def test_a_time_that_is_no_integer_is_refused_with_what_would_read_it(text: str, hint: str) -> None:
    decoder = CsvDecoder(Symbols(), [], {})
    decoder.decode(f"ts,src,dst,label\n{text},a,b,x\n".encode())
    assert decoder.take_dead_letters()[0][1] == f'ts "{text}" is not an integer{hint}'


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("%H:%M", '"%H:%M" is not a format of times: it has no year: %Y or %y'),
        ("%Y-%m", '"%Y-%m" is not a format of times: it has no day: %d and %m, or %j'),
        ("%Y-%m-%d %Q", '"%Y-%m-%d %Q" is not a format of times: there is no %Q; known are '),
    ],
)
def test_a_format_that_says_no_time_is_refused(written: str, reason: str) -> None:
    with pytest.raises(UnreadableStreamError) as refused:
        csv_time("x", written, TimeUnit.SECOND)
    assert str(refused.value).startswith(reason)
    with pytest.raises(ValueError, match="'days' is not a format of times: give ticks, s, ms, us, ns, iso, or one of strptime"):
        refuse_unknown_time_format("days")
    with pytest.raises(ValueError, match="'Mars/Base' is not a time zone that this machine knows"):
        zone_of("Mars/Base")


@pytest.mark.parametrize(
    ("column", "written", "zone", "expected"),
    [
        (pa.array([19_753], pa.date32()), "ticks", None, 1_706_659_200_000_000),
        (pa.array([1_706_659_200_000], pa.date64()), "ticks", None, 1_706_659_200_000_000),
        (pa.array([19_753], pa.date32()), "ticks", "Europe/Berlin", 1_706_655_600_000_000),
        (pa.array([1_706_659_200], pa.timestamp("s")), "ticks", "Europe/Berlin", 1_706_655_600_000_000),
        (pa.array([1_706_659_200], pa.timestamp("s", "Asia/Tokyo")), "ticks", "Europe/Berlin", 1_706_659_200_000_000),
        (pa.array([1_706_659_200], pa.int32()), "s", None, 1_706_659_200_000_000),
        (pa.array([2**63], pa.uint64()), "ns", None, 2**63 // 1_000),
        (pa.array([1521911721.258458]), "s", None, 1_521_911_721_258_458),
        (pa.array(["2024-01-31 01:00"]), "iso", "Europe/Berlin", 1_706_659_200_000_000),
        (pa.array(["31.01.2024"]).dictionary_encode(), "%d.%m.%Y", None, 1_706_659_200_000_000),
    ],
)
def test_a_column_of_a_table_is_read_as_it_is_written(column: pa.Array, written: str, zone: str | None, expected: int) -> None:
    unit = TimeUnit.MICROSECOND
    form = RecordForm(times=time_form(written, zone, unit))
    decoder = ArrowDecoder(Symbols(), [], {}, ticks_per_second(unit), form=form)
    rows = pa.record_batch([column, ["a"], ["b"], ["x"]], names=["ts", "src", "dst", "label"])
    assert [row["ts"] for row in decoder.decode_rows(rows).to_records()] == [expected]
    empty = pa.record_batch([pa.nulls(1, column.type), ["a"], ["b"], ["x"]], names=["ts", "src", "dst", "label"])
    assert len(decoder.decode_rows(empty)) == 0
    assert [reason for _, reason, _ in decoder.take_dead_letters()] == ["ts is missing"]


@given(number=st.floats(-1e19, 1e19) | st.floats(-1e-300, 1e-300), written=st.sampled_from(EPOCHS), unit=units)
@example(number=5e-324, written="s", unit=TimeUnit.NANOSECOND)
@example(number=-2.2250738585072014e-308, written="s", unit=TimeUnit.NANOSECOND)
@example(number=1e300, written="s", unit=TimeUnit.NANOSECOND)
def test_a_floating_point_time_of_a_table_is_the_decimal_that_python_shows(number: float, written: str, unit: TimeUnit) -> None:
    decoder = ArrowDecoder(Symbols(), [], {}, ticks_per_second(unit), form=RecordForm(times=time_form(written, None, unit)))
    rows = pa.record_batch([pa.array([number]), ["a"], ["b"], ["x"]], names=["ts", "src", "dst", "label"])
    expected = floor(Fraction(Decimal(repr(number))) * TimeUnit(written).nanoseconds, unit)
    assert [row["ts"] for row in decoder.decode_rows(rows).to_records()] == ([] if expected is None else [expected])
    assert len(decoder.take_dead_letters()) == (expected is None)


@pytest.mark.parametrize(
    ("written", "expected"),
    [("s", "a number, a timestamp or a date"), ("iso", "a text, an integer, a timestamp or a date")],
)
def test_a_column_of_another_type_is_refused_with_those_that_times_have(written: str, expected: str) -> None:
    decoder = ArrowDecoder(Symbols(), [], {}, form=RecordForm(times=time_form(written, None, TimeUnit.MILLISECOND)))
    rows = pa.record_batch([[True], ["a"], ["b"], ["x"]], names=["ts", "src", "dst", "label"])
    with pytest.raises(UnreadableStreamError, match=f'column "ts" is of type Boolean, not {expected}$'):
        decoder.decode_rows(rows)
    integers = pa.record_batch([[5], ["a"], ["b"], ["x"]], names=["ts", "src", "dst", "label"])
    assert [row["ts"] for row in decoder.decode_rows(integers).to_records()] == [5_000 if written == "s" else 5]
