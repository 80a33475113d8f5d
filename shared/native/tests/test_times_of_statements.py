"""The decoders read times as the oracle of STREAM statements does: numbers, ISO 8601 and formats of strptime, in any zone."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime

from graphtide_core.ids import StreamName
from graphtide_core.predicate import Literal
from graphtide_core.record_expression import FieldPath
from graphtide_core.record_time import EpochUnit, RecordTime
from graphtide_core.stream_definition import EventClause, StreamDefinition
from graphtide_core.time import TimeUnit
from graphtide_native.record_form import EPOCHS, RecordForm, clocks_of_zones, time_form
from graphtide_native.records import CsvDecoder, StatementDecoder, Symbols
from graphtide_testing.oracles.record_times import ticks_of
from graphtide_wire.stream_definition import encode_definition
from hypothesis import given
from hypothesis import strategies as st

FORMATS = [
    "%m/%d/%Y %H:%M",
    "%d/%b/%Y:%H:%M:%S %z",
    "%A, %d %B %Y %I:%M:%S %p",
    "%Y%m%dT%H%M%S%f",
    "%Y-%j %H:%M",
    "100%% %F %T",
    "%D %R %Z",
    "%e %h %y",
]
ZONES = [None, "UTC", "Europe/Berlin", "Australia/Lord_Howe", "-03:30"]
SIGNS = "0123456789:-/ TtZz.,aApPmM+e"
NUMBERS = st.decimals(-(10**20), 10**20, allow_nan=False).map(str) | st.text("0123456789.+-e", min_size=1, max_size=12)
MOMENTS = st.datetimes(datetime.fromisoformat("1890-01-01"), datetime.fromisoformat("2110-01-01"))
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 2), st.text(SIGNS, max_size=2)), max_size=2)


def decode(text: str, written: str, zone: str | None, unit: TimeUnit) -> int | None:
    """Return the time that CSV has by this text; None if it is a dead letter."""
    decoder = CsvDecoder(Symbols(), [], {}, "|", form=RecordForm(times=time_form(written, zone, unit)))
    rows = [*decoder.decode(f"ts|src|dst|label\n{text}|a|b|x\n".encode()).to_records(), *decoder.finish().to_records()]
    return rows[0]["ts"] if rows else None


def read_plainly(text: str, time: RecordTime, unit: TimeUnit) -> int | None:
    try:
        return ticks_of(text, time, unit)
    except ValueError:
        return None


def edit(text: str, edits: list[tuple[float, int, str]]) -> str:
    for place, length, new in edits:
        start = int(place * len(text))
        text = text[:start] + new + text[start + length :]
    return text


@given(NUMBERS, st.sampled_from(EPOCHS), st.sampled_from(TimeUnit))
def test_numbers(text: str, written: str, unit: TimeUnit) -> None:
    time = RecordTime(FieldPath(("t",)), EpochUnit(written))
    assert decode(text, written, None, unit) == read_plainly(text, time, unit)


@given(MOMENTS, st.sampled_from([*FORMATS, "iso"]), st.sampled_from(ZONES), st.sampled_from(TimeUnit), EDITS)
def test_dates(moment: datetime, written: str, zone: str | None, unit: TimeUnit, edits: list[tuple[float, int, str]]) -> None:
    text = edit(moment.isoformat() if written == "iso" else moment.replace(tzinfo=UTC).strftime(written), edits)
    states_zone = "%z" in written or "%Z" in written
    time = RecordTime(FieldPath(("t",)), None, written, None if states_zone else zone)
    assert decode(text, written, zone, unit) == (read_plainly(text, time, unit) if text else None)


WITHOUT_YEAR = ["%b %d %H:%M:%S", "%d/%m %H:%M", "%j %R", "syslog"]
BEFORE = st.dates(date(1900, 3, 1), date(2100, 1, 1)).map(str) | st.sampled_from(["2024-02-29", "2024-03-01", "2103-01-01"])


@given(MOMENTS, st.sampled_from(WITHOUT_YEAR), st.sampled_from(ZONES), BEFORE, EDITS)
def test_dates_without_a_year(
    moment: datetime, written: str, zone: str | None, before: str, edits: list[tuple[float, int, str]]
) -> None:
    unit = TimeUnit.SECOND
    text = edit(moment.strftime(WITHOUT_YEAR[0] if written == "syslog" else written), edits)
    time = RecordTime(FieldPath(("t",)), None, written, zone, before)
    definition = StreamDefinition(StreamName("s"), None, (EventClause(Literal("x")),), time, unit)
    decoder = StatementDecoder(
        Symbols(), (), encode_definition(definition), format="jsonl", zones=clocks_of_zones(definition.zones())
    )
    rows = [*decoder.decode(json.dumps({"t": text}).encode()).to_records(), *decoder.finish().to_records()]
    assert (rows[0]["ts"] if rows else None) == read_plainly(text, time, unit)
