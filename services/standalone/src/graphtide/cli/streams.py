"""How a stream is written and how far it may be out of order: options that every verb that reads a stream has alike.

Where a verb has a `--format` of its own, that of the stream is `--stream-format` alone.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from graphtide_core.time import MAX_EVENT_TIME, Duration, EventTime, TimeUnit

from graphtide.cli.arguments import attribute_types, bounded_duration, choice, columns, delimiter_of, duration

if TYPE_CHECKING:
    from graphtide.options import MatchOptions
    from graphtide.readers import ReaderOptions

_FORMATS: Final = "csv, jsonl, parquet or arrow; by the name if not given."

Lateness = Annotated[str, typer.Option(help="Records up to so much late are put back in order.")]
MaxAhead = Annotated[str | None, typer.Option(help="Records further ahead of the clock are put aside; by default none are.")]
Columns = Annotated[list[str] | None, typer.Option("--column", help="NAME=COLUMN: what the stream calls ts, src, dst …")]
Format = Annotated[str | None, typer.Option("--format", "--stream-format", help=_FORMATS)]
FormatOfStream = Annotated[str | None, typer.Option("--stream-format", help=f"The stream's: {_FORMATS}")]
Delimiter = Annotated[str, typer.Option(help="What separates the fields of a CSV file.")]


def of_stream(
    lateness: str, column: list[str] | None, unit: TimeUnit, type: list[str] | None = None, schema: Path | None = None
) -> MatchOptions:
    """Return the options of a run that follow from how its stream is."""
    from graphtide.options import MatchOptions  # noqa: PLC0415 - help, and checks of patterns alone, do without the engine

    return MatchOptions(
        time_unit=unit,
        lateness=bounded_duration(lateness, "--lateness", unit),
        columns=columns(column or []),
        types=attribute_types(type, schema),
    )


def reading_of(
    options: MatchOptions,
    format: str | None,
    delimiter: str,
    max_ahead: str | None,
    *,
    keep_raw: bool = False,
    option: str = "--format",
) -> ReaderOptions:
    """Return how to read a stream for a run with these options; `option` is what the verb calls the stream's format."""
    from graphtide.readers import ReaderOptions, StreamFormat  # noqa: PLC0415 - as above

    return ReaderOptions(
        columns=options.columns,
        format=None if format is None else choice(format, {each.value: each for each in StreamFormat}, option),
        delimiter=delimiter_of(delimiter),
        time_unit=options.time_unit,
        keep_raw=keep_raw,
        latest=MAX_EVENT_TIME if max_ahead is None else _latest(duration(max_ahead, "--max-ahead"), options.time_unit),
    )


def of_another(reading: ReaderOptions, *, is_same: bool) -> ReaderOptions:
    """Return how to read another stream of the same kind: as this one, but in its own format, which its name tells."""
    return reading if is_same else replace(reading, format=None)


def _latest(ahead: Duration, unit: TimeUnit) -> EventTime:
    """Return the latest time that is taken now."""
    return EventTime(min(MAX_EVENT_TIME, time.time_ns() // unit.nanoseconds + ahead.ticks_at_least(unit)))
