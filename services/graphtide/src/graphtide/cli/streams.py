"""How a stream is written and how far it may be out of order: options that every verb that reads a stream has alike.

Where a verb has a `--format` of its own, that of the stream is `--stream-format` alone.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from graphtide_core.formats import FORMATS, one_of
from graphtide_core.time import MAX_EVENT_TIME, Duration, EventTime, TimeUnit, iso_time

from graphtide.cli.arguments import (
    AUTO_UNIT,
    attribute_types,
    bounded_duration,
    choice,
    columns,
    duration,
    time_unit,
)
from graphtide.cli.record_forms import FormOptions
from graphtide.cli.status import note
from graphtide.record import columns_to_read

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from graphtide_core.any_pattern import AnyPattern

    from graphtide.inputs import Inputs
    from graphtide.options import MatchOptions
    from graphtide.readers import ReaderOptions
    from graphtide.record_options import RecordOptions

_FORMATS: Final = f"{one_of(FORMATS)}; by the name if not given."

Lateness = Annotated[
    str | None,
    typer.Option(
        help="Records of a stream that are late by at most this are put back in order, later ones rejected. "
        "Without it a file out of order is sorted first, and of a pipe none may be late.",
        show_default=False,
    ),
]
MaxAhead = Annotated[str | None, typer.Option(help="Records further ahead of the clock are rejected; by default none are.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="NAME=COLUMN: what the stream calls ts, src, dst …; id= reads it without ids."),
]
Duplicates = Annotated[
    str | None,
    typer.Option(
        help="What a record means whose id came before in the window: reject drops it (if not given), update puts it in the "
        "place of the one before, error ends the run.",
        show_default=False,
    ),
]
MaxRejected = Annotated[
    str, typer.Option(help="PERCENTAGE of the records; from so many rejected or late ones on the exit status is 5.")
]
MAX_REJECTED: Final = "1%"
"""The share of rejected records from which on a run is not a success, by default."""

UnitOfStream = Annotated[
    str | None,
    typer.Option(
        "--time-unit",
        help=f"What ts counts: s, ms (if not given), us or ns; {AUTO_UNIT} guesses by the first ts of a file.",
        show_default=False,
    ),
]
Format = Annotated[str | None, typer.Option("--format", "--stream-format", help=_FORMATS)]
FormatOfStream = Annotated[str | None, typer.Option("--stream-format", help=f"The stream's: {_FORMATS}")]
Input = Annotated[
    list[str] | None,
    typer.Option("--input", help="NAME=FILE: a stream by name, for streaming graph queries over several.", show_default=False),
]


def of_stream(
    lateness: str | None,
    column: list[str] | None,
    unit: TimeUnit,
    type: list[str] | None = None,
    schema: Path | None = None,
    *,
    records: RecordOptions,
    duplicates: str | None = None,
) -> MatchOptions:
    """Return the options of a run that follow from how its stream is."""
    from graphtide.options import MatchOptions  # noqa: PLC0415 - help, and checks of patterns alone, do without the engine

    if column and records.stream:
        message = f"STREAM {records.stream[0].name} says what its fields are; leave the option out"
        raise typer.BadParameter(message, param_hint="--column")
    read = None if lateness is None else bounded_duration(lateness, "--lateness", unit)
    kinds, named = attribute_types(type, schema), columns(column or [])
    try:
        return MatchOptions(
            time_unit=unit, lateness=read, columns=named, types=kinds, record_options=records, duplicates=duplicates
        )
    except ValueError as error:
        option, _, message = str(error).partition(": ")
        if option not in {"lateness", "duplicates"}:
            raise
        raise typer.BadParameter(message, param_hint=f"--{option}") from error


def reading_of(
    options: MatchOptions, format: str | None, max_ahead: str | None, *, keep_raw: bool = False, option: str = "--format"
) -> ReaderOptions:
    """Return how to read a stream for a run with these options; `option` is what the verb calls the stream's format."""
    from graphtide.readers import ReaderOptions  # noqa: PLC0415 - as above

    return ReaderOptions(
        columns=columns_to_read(options.columns),
        format=None if format is None else choice(format, FORMATS, option),
        time_unit=options.time_unit,
        keep_raw=keep_raw,
        sorts=options.sort,
        latest=MAX_EVENT_TIME if max_ahead is None else _latest(duration(max_ahead, "--max-ahead"), options.time_unit),
        record_options=options.record_options,
    )


def unit_of(
    text: str | None, stream: str | None, *, column: list[str] | None, format: str | None, records: RecordOptions
) -> TimeUnit:
    """Return what times count: as it is said, or by the size of the first time of a file if it is to be guessed.

    Raises:
        BadParameter: there is no such unit, or it cannot be guessed, or a statement says another.
        UnreadableStreamError: the file cannot be read.
    """
    stated = next((each.unit for each in records.stream), None)
    if text is None:
        return stated or TimeUnit.MILLISECOND
    if text != AUTO_UNIT:
        found = time_unit(text)
        if stated in {None, found}:
            return found
    if stated is not None:
        message = f"STREAM {records.stream[0].name} counts {stated.value}: leave the option out, or write UNIT in the statement"
        raise typer.BadParameter(message, param_hint="--time-unit")
    if stream is None or stream == "-":
        message = f"{AUTO_UNIT} looks at the beginning of a file: of other streams say what ts counts"
        raise typer.BadParameter(message, param_hint="--time-unit")
    if records.time_format != FormOptions().time_format:
        message = f"{AUTO_UNIT} guesses what integers count; for other times say the unit that they become"
        raise typer.BadParameter(message, param_hint="--time-unit")
    from graphtide.notes import likely_unit  # noqa: PLC0415 - as above
    from graphtide.readers import open_stream  # noqa: PLC0415 - as above

    labelled = replace(records, label=records.label or "any")
    reading = reading_of(of_stream(None, column, TimeUnit.MILLISECOND, records=labelled), format, None)
    reader = open_stream(stream, reading)
    try:
        first = next((batch.part(0, 1).last_ts for batch in reader.batches() if len(batch)), None)
    finally:
        reader.close()
    guessed = None if first is None else likely_unit(first)
    if guessed is None:
        shown = "it has no good record" if first is None else f"its first time, {first}, is near today in none"
        message = f"the unit of {stream} cannot be guessed: {shown}; say s, ms, us or ns"
        raise typer.BadParameter(message, param_hint="--time-unit")
    note(f"ts is taken to count {guessed.value}: the first, {first}, is of {iso_time(first or 0, guessed)} then")
    return guessed


def max_rejected_of(text: str) -> Fraction:
    """Read the share of records that may be rejected."""
    from graphtide.rejections import share_of  # noqa: PLC0415 - as above

    try:
        return share_of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--max-rejected") from error


def stream_of(
    patterns: Iterable[AnyPattern], stream_file: list[str] | None, inputs: list[str] | None, *, option: str = "STREAM_FILE"
) -> list[str] | Inputs:
    """Return the stream of a run: the files of one without a name, or those that are given by name.

    `option` is what the verb calls the one without a name.
    """
    from graphtide.inputs import Inputs, Spelling, flaw_of_streams  # noqa: PLC0415 - help does without

    spelling = Spelling("--input {name}=FILE")
    if inputs is None:
        if stream_file is None and (flaw := flaw_of_streams(patterns, None, spelling)):
            raise typer.BadParameter(flaw, param_hint="--input")
        if stream_file is None:
            message = "give the file of the stream, or - for standard input; of several streams --input NAME=FILE for each"
            raise typer.BadParameter(message, param_hint=option)
        if flaw := flaw_of_streams(patterns, None, spelling):
            raise typer.BadParameter(flaw, param_hint="--input")
        return stream_file
    if stream_file is not None:
        message = f"streams are given by name: leave {stream_file[0]!r} out, or give it as --input NAME={stream_file[0]}"
        raise typer.BadParameter(message, param_hint=option)
    files = dict[str, str]()
    for pair in inputs:
        name, separator, file = pair.partition("=")
        if not separator or not name or not file:
            message = f"{pair!r} is not NAME=FILE, for example social_stream=social.csv"
            raise typer.BadParameter(message, param_hint="--input")
        if name in files:
            message = f"stream {name!r} is given twice: {files[name]} and {file}"
            raise typer.BadParameter(message, param_hint="--input")
        files[name] = file
    if flaw := flaw_of_streams(patterns, files, spelling):
        raise typer.BadParameter(flaw, param_hint="--input")
    if list(files.values()).count("-") > 1:
        message = "standard input is one stream"
        raise typer.BadParameter(message, param_hint="--input")
    try:
        return Inputs(files)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--input") from error


def files_of(inputs: list[str] | None) -> dict[str, str]:
    """Return the files of streams that are given by name, by what the command line calls each of them."""
    return {f"--input {pair}": pair.partition("=")[2] for pair in inputs or ()}


def stream_files(names: list[str] | None) -> dict[str, str]:
    """Return the files of a stream by what the command line calls each of them."""
    several = len(names or ()) > 1
    return {f"STREAM_FILE {each}" if several else "STREAM_FILE": each for each in names or ()}


def of_another(reading: ReaderOptions, *, is_same: bool) -> ReaderOptions:
    """Return how to read another stream of the same kind: as this one, but in the format that its own name gives."""
    return reading if is_same else replace(reading, format=None)


def _latest(ahead: Duration, unit: TimeUnit) -> EventTime:
    """Return the latest time that is taken now."""
    return EventTime(min(MAX_EVENT_TIME, time.time_ns() // unit.nanoseconds + ahead.ticks_at_least(unit)))
