"""`graphtide validate`: is a pattern file valid, and for a stream?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from graphtide_core.errors import InvalidPatternError
from graphtide_core.time import TimeUnit
from graphtide_query import print_pattern

from graphtide.cli.arguments import PatternFile, SchemaFile, Type, read_patterns_and_streams, with_source
from graphtide.cli.record_forms import FormOptions, add_form_options
from graphtide.cli.status import note, say
from graphtide.cli.streams import Columns, Duplicates, Format, Lateness, MaxAhead, UnitOfStream, of_stream, reading_of, unit_of
from graphtide.notes import notes_on, notes_on_bursts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.statistics import StatisticsSnapshot

    from graphtide.options import MatchOptions
    from graphtide.readers import ReaderOptions


@add_form_options
def validate(
    pattern_file: PatternFile,
    *,
    stream: Annotated[
        str | None, typer.Option(help="Check too that this stream has the attributes that the patterns read.")
    ] = None,
    unit: UnitOfStream = None,
    lateness: Lateness = None,
    duplicates: Duplicates = None,
    max_ahead: MaxAhead = None,
    column: Columns = None,
    format: Format = None,
    record_form: FormOptions,
    type: Type = None,
    schema: SchemaFile = None,
    show: Annotated[bool, typer.Option("--print", help="Print the patterns in canonical form.")] = False,
) -> None:
    """Check a pattern file; status 2 and the place of the first error if it is invalid.

    With --stream, which is read as `match` reads it, also that the stream's first records have what the patterns read.
    """
    stated, patterns = read_patterns_and_streams(pattern_file)
    said = record_form.is_given or any(
        each not in (None, []) for each in (unit, lateness, duplicates, max_ahead, column, format, type, schema)
    )
    counted, counts = None, TimeUnit.MILLISECOND
    if stream is not None or stated or said:
        # Options of a stream must make sense, even if the stream is not read.
        records = record_form.read(stated)
        counts = unit_of(unit, stream, column=column, format=format, records=records)
        options = of_stream(lateness, column, counts, type, schema, records=records, duplicates=duplicates)
        reading = reading_of(options, format, max_ahead)
        if stream is not None:
            counted = _check(patterns, pattern_file, stream, options, reading)
    for text in notes_on_bursts(patterns, counted, counts):
        note(text)
    if show:
        typer.echo("\n".join(print_pattern(pattern) for pattern in patterns))
        return
    names = ", ".join(map(_with_family, patterns))
    typer.echo(f"{pattern_file}: {len(patterns)} valid pattern{'s' if len(patterns) != 1 else ''}: {names}")


def _with_family(pattern: AnyPattern) -> str:
    """Return the name of a pattern, and its family if that is not subgraphs."""
    from graphtide_query.families import family_of  # noqa: PLC0415 - help does without

    kind = family_of(pattern).kind
    return f"{pattern.name} ({kind})" if kind else pattern.name


def _check(
    patterns: Sequence[AnyPattern], pattern_file: Path, stream: str, options: MatchOptions, reading: ReaderOptions
) -> StatisticsSnapshot | None:
    try:
        return _refuse_unusable(patterns, stream, options, reading)
    except InvalidPatternError as error:
        raise with_source(error, pattern_file) from error


def _refuse_unusable(
    patterns: Sequence[AnyPattern], stream: str, options: MatchOptions, reading: ReaderOptions
) -> StatisticsSnapshot | None:
    """Refuse patterns that read what the stream does not have; say what of its first records could not be used.

    Returns statistics of those records; None without records.

    Raises:
        InvalidPatternError: a pattern reads an attribute that the stream does not have.
        UnreadableStreamError: it cannot be read.
    """
    # Without a stream nothing of this is needed.
    from graphtide_native.records import Sequencer, take_dead_letters  # noqa: PLC0415
    from graphtide_native.sampling import sample  # noqa: PLC0415

    from graphtide.pipeline import Pipeline  # noqa: PLC0415
    from graphtide.readers import open_stream  # noqa: PLC0415
    from graphtide.rejections import Rejections  # noqa: PLC0415
    from graphtide.remedies import by_command_line  # noqa: PLC0415
    from graphtide.run import tune_reader  # noqa: PLC0415

    pipeline = Pipeline(patterns, options)
    # The first records alone are looked at.
    reader = open_stream(stream, replace(tune_reader(reading, pipeline, options), sorts=False))
    rejections = Rejections()
    try:
        batch = next(iter(reader.batches()), None)
        sequencer = Sequencer(int(options.lateness.ticks(options.time_unit)), options.max_pending)
        if batch is not None:
            sequencer.push(batch)
        rejections.add([*reader.take_dead_letters(), *take_dead_letters(sequencer)])
        known = reader.columns
    finally:
        reader.close()
    how, remedies = "these are the stream's first records", by_command_line(options.time_unit)
    for text in rejections.sentences(reader.records, reader.place, how, remedies):
        say(text)
    if known is not None:
        pipeline.refuse_unknown(known)
    counted = sample(batch, pipeline.symbols) if batch is not None else None
    if batch is not None:
        pipeline.seen.take(batch)
    for text in notes_on(
        patterns, reader.records, pipeline.seen, first=counted, declared=options.declared, unit=options.time_unit
    ):
        note(text)
    return counted
