"""`graphtide backfill`: patterns over history, on Spark."""

from __future__ import annotations

import contextlib
import shutil
import sys
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
import typer
from graphtide_core.errors import FatalError, GraphtideError, InvalidPatternError, InvalidQueryError
from graphtide_core.formats import DEFAULT, columnar_first, columnar_suffixes, one_of
from graphtide_core.stream_partition import part_key
from graphtide_core.stream_windows import StreamWindows
from graphtide_core.time import MAX_EVENT_TIME, MIN_EVENT_TIME, TimeUnit
from graphtide_native.spec import Limits
from graphtide_query.families import AUTO

from graphtide.cli.arguments import (
    MOST,
    Engine,
    PatternFile,
    SchemaFile,
    Type,
    bounded_duration,
    choice,
    columns,
    delimiter_of,
    engine_name,
    read_patterns_and_streams,
    refuse_shared_files,
    with_source,
)
from graphtide.cli.histories import history_of, places_of, topic_of
from graphtide.cli.java import java_log
from graphtide.cli.output import format_of_matches, refuse_unwritable, write_text
from graphtide.cli.progress import ProgressBar
from graphtide.cli.record_forms import Definition, FormOptions, Preset
from graphtide.cli.signals import Ending, starting
from graphtide.cli.status import note, say, status_of_share
from graphtide.cli.streams import (
    MAX_REJECTED,
    Columns,
    MaxRejected,
    UnitOfStream,
    max_rejected_of,
    of_stream,
    unit_of,
)
from graphtide.extras import needing
from graphtide.losses import notes_on_filtered, notes_on_nothing_left

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from graphtide_backfill.adapters.result_folder import ResultFolder
    from graphtide_backfill.application.backfill import Prepared, Progress, RunTotals
    from graphtide_backfill.application.pieces import History
    from graphtide_backfill.bootstrap import Run
    from graphtide_backfill.domain.division import SliceKey
    from graphtide_backfill.domain.task import Task
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.stream_definition import StreamDefinition


_POLICIES = {name: name for name in ("fail", "pause", "shed")}
_WRITTEN = [*DEFAULT.suffixes, *columnar_suffixes()]


def backfill(
    pattern_file: PatternFile,
    location: Annotated[
        str | None, typer.Argument(help="File, folder or names of history; for kafka brokers/topic.", show_default=False)
    ] = None,
    *,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input", help="NAME=LOCATION: history of a stream by name, for graph queries over several.", show_default=False
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(columnar_first())}, or kafka: an ordered topic; by the files' names if not given."),
    ] = None,
    start: Annotated[str | None, typer.Option("--from", help="First time of detection: ticks, or a date.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Time before which matches are detected.")] = None,
    master: Annotated[str, typer.Option(help="local[2], spark://…, k8s://…")] = "local[*]",
    executor_memory: Annotated[str, typer.Option(help="Memory of an executor, JVM and Python together.")] = "2g",
    spark: Annotated[list[str] | None, typer.Option(help="NAME=VALUE: a setting of Spark.")] = None,
    slice_length: Annotated[str, typer.Option("--slice", help="Length of a slice, or auto.")] = "auto",
    slice_by: Annotated[
        str | None,
        typer.Option(
            help="KEY or KEY:N: slices of time are divided into parts of the key, to which patterns must be local. KEY is src, "
            "dst, VERTEX or an attribute; without this it is that of PARTITION BY.",
            show_default=False,
        ),
    ] = None,
    engine: Engine = AUTO,
    output: Annotated[
        Path | None,
        typer.Option(help=f"Where matches go: a name that ends in {one_of(_WRITTEN)}."),
    ] = None,
    partitioned: Annotated[
        Path | None, typer.Option(help="New folder that matches go to as Parquet, by query and day.", show_default=False)
    ] = None,
    to_kafka: Annotated[str | None, typer.Option(help="brokers/topic that matches go to.")] = None,
    prefix: Annotated[str, typer.Option(help="Prefix of the names of the deployment's topics.")] = "graphtide",
    resume: Annotated[Path | None, typer.Option(help="Folder of finished slices; continues a run that ended early.")] = None,
    summary: Annotated[
        Path | None, typer.Option(help="Where counts go, with matches by time, as JSON; - is standard output.")
    ] = None,
    summary_by: Annotated[str, typer.Option(help="Length of an interval of the summary.")] = "1d",
    dry_run: Annotated[bool, typer.Option(help="Show slices and what they would cost, and match nothing.")] = False,
    unique_ids: Annotated[bool, typer.Option(help="No id comes twice within a window: spares a pass.")] = False,
    unit: UnitOfStream = None,
    max_rejected: MaxRejected = MAX_REJECTED,
    column: Columns = None,
    definition: Definition = None,
    preset: Preset = None,
    delimiter: Annotated[str, typer.Option(help="What separates the fields of CSV.")] = ",",
    type: Type = None,
    schema: SchemaFile = None,
    limit_partial_matches: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Partial matches a pattern may hold.")
    ] = None,
    limit_state_bytes: Annotated[int | None, typer.Option(min=1, max=MOST, help="Bytes of state a pattern may hold.")] = None,
    limit_work: Annotated[int | None, typer.Option(min=1, max=MOST, help="Steps of work a record, on average.")] = None,
    on_limit: Annotated[str, typer.Option(help="At a limit: fail (status 1), pause the pattern, or shed.")] = "fail",
) -> None:
    """Find every match of the patterns in history: the same as on the live stream, in slices of time on Spark.

    A pattern that history cannot be searched for is left out, with a warning that says why; others run. Finished slices stay
    when the run ends early; `--resume` continues from them. Exit status: 0 if done, 2 if a pattern is invalid or all are left
    out. It is 3 if history is unreadable or all its records were rejected. It is 5 if more were rejected than --max-rejected
    allows, 130 if interrupted, 143 if ended by SIGTERM.
    """
    with starting(), needing("spark", "a backfill"):
        from graphtide_backfill import bootstrap  # noqa: PLC0415 - Spark is an extra
        from graphtide_backfill.application.backfill import Asked  # noqa: PLC0415
        from graphtide_backfill.application.ports import CancelledError  # noqa: PLC0415
        from graphtide_backfill.domain.task import Task  # noqa: PLC0415
        from graphtide_backfill.entrypoints.request import SparkRequest, instant, pairs, size  # noqa: PLC0415
    given = places_of(location, inputs, source)
    refuse_shared_files({"PATTERN_FILE": pattern_file, **given.by_option()}, {"--output": output, "--summary": summary})
    _refuse_unwritable(output, summary, partitioned)
    stated, patterns = read_patterns_and_streams(pattern_file)
    records = FormOptions(delimiter=delimiter_of(delimiter), definition=definition, preset=preset).read(stated)
    ticks = unit_of(unit, None, column=column, format=None, records=records)
    task = Task(
        _search(patterns, given.names),
        engine_name(engine),
        ticks,
        limits=Limits(limit_partial_matches, limit_state_bytes, choice(on_limit, _POLICIES, "--on-limit"), limit_work),
        windows=_windows(records.stream, given.names),
        streams=given.names,
    )
    most, mapped = max_rejected_of(max_rejected), columns(column or [])
    # Options of a stream must not contradict its statement.
    options = of_stream(None, column, ticks, type, schema, records=records)
    history, is_topic = history_of(given, options)
    asked = Asked(
        start=_instant(start, "--from", ticks, instant),
        end=_instant(end, "--to", ticks, instant),
        slice_length=None if slice_length == "auto" else _ticks(slice_length, "--slice", ticks),
        unique_ids=unique_ids,
        by=_by_key(slice_by, task, records.stream),
    )
    by = _ticks(summary_by, "--summary-by", ticks)
    folder = resume or Path(f"{output or partitioned or 'backfill'}.run")
    _refuse_left(folder, is_new=resume is None)
    request = SparkRequest(master, size(executor_memory), pairs(spark or []))
    if not is_topic:
        _check(task, history, pattern_file, {name: actual for name, actual in mapped.items() if actual})
    to = None if to_kafka is None else bootstrap.publish(*topic_of(to_kafka, "--to-kafka"), prefix)
    stop = Event()
    with Ending(stop) as ending, java_log() as log, contextlib.ExitStack() as stack:
        bar = stack.enter_context(ProgressBar("starting Spark", parts="slices"))
        with log.taken():
            cluster = stack.enter_context(bootstrap.spark_cluster(request))
        ending.listen()
        run = bootstrap.backfill(task, history, cluster, folder, asked, on_progress=partial(_show, bar), stop=stop, to=to)
        try:
            prepared = _prepare(run, pattern_file, bar, is_new=resume is None)
            _say_unread(prepared)
            _say_rest(prepared)
            if dry_run:
                _say_plan(prepared)
                if resume is None:
                    shutil.rmtree(folder)
                return
            totals = run.execute(prepared, ticks)
        except CancelledError as error:
            say(f"interrupted: {bar.said()}; finished slices are in {folder}: --resume {folder} continues")
            _write_summary(summary, "interrupted", run, by)
            raise typer.Exit(ending.status) from error
    _write_summary(summary, "done", run, by)
    _write_results(run.results, _Places(output, partitioned, is_published=to is not None), ticks, totals)
    if resume is None:
        shutil.rmtree(folder)
    raise typer.Exit(status_of_share(totals.rejected, prepared.reading.records, most))


def _by_key(text: str | None, task: Task, stream: Sequence[StreamDefinition]) -> SliceKey | None:
    """Return what history is divided by: what the user says, or the key of the stream if all patterns are local to it.

    Raises:
        InvalidPatternError: the user's key or number is none, or a pattern is not local to the key.
    """
    from graphtide_backfill.domain.division import SliceKey, refuse_not_local  # noqa: PLC0415 - Spark is an extra
    from graphtide_backfill.entrypoints.request import slice_key  # noqa: PLC0415

    if text is not None:
        asked = slice_key(text)
        refuse_not_local(task.patterns, asked.key, task.read_windows)
        return asked
    stated = next((key for each in stream if (key := part_key(each)) is not None), None)
    if stated is None:
        return None
    try:
        refuse_not_local(task.patterns, stated, task.read_windows)
    except InvalidPatternError as error:
        note(f"history is not divided by {stated}, the key of the stream: {error.reason}")
        return None
    return SliceKey(stated)


def _windows(stream: Sequence[StreamDefinition], names: Collection[str]) -> StreamWindows:
    """Return what is counted of a stream.

    Raises:
        InvalidQueryError: history is of several streams, and something is counted of one of them.
    """
    if not names:
        return stream[0].windows if stream else StreamWindows()
    counted = next((each.name for each in stream if each.windows), None)
    if counted is not None:
        message = f"STREAM {counted}: a backfill over several streams counts no features, and has no EMIT; leave them out"
        raise InvalidQueryError(message)
    return StreamWindows()


def _search(patterns: tuple[AnyPattern, ...], streams: Collection[str]) -> tuple[AnyPattern, ...]:
    """Return the patterns that history can be searched for, and warn of the others; all where it can be for none."""
    from graphtide_backfill.domain.task import refusals  # noqa: PLC0415 - Spark is an extra

    refused = refusals(patterns, streams)
    for name, reason in refused.items():
        say(f"warning: {name} is left out: {reason}")
    return tuple(each for each in patterns if each.name not in refused) or patterns


class _Places(NamedTuple):
    """Where matches go: a file, a folder of Parquet, and a topic, which has them already."""

    output: Path | None
    partitioned: Path | None
    is_published: bool


def _refuse_unwritable(output: Path | None, summary: Path | None, partitioned: Path | None) -> None:
    if partitioned is not None and partitioned.exists():
        message = f"{partitioned} is there already: matches are written to a new folder"
        raise FatalError(message)
    refuse_unwritable([output, summary, partitioned])
    if output is not None and output.suffix:
        format_of_matches(output, _WRITTEN)


def _refuse_left(folder: Path, *, is_new: bool) -> None:
    if is_new and folder.exists():
        message = f"{folder} is left of a run that ended early: continue with --resume {folder}, or remove it"
        raise FatalError(message)


def _check(task: Task, history: History, pattern_file: Path, mapped: Mapping[str, str]) -> None:
    """Refuse what can be seen to be wrong before Spark, which takes its time, is started."""
    from graphtide_backfill import bootstrap  # noqa: PLC0415 - see above

    try:
        bootstrap.check(task, history, mapped)
    except InvalidPatternError as error:
        raise with_source(error, pattern_file) from error


def _say_rest(prepared: Prepared) -> None:
    if prepared.rest is not None:
        note(f"history has grown since this run was cut; --from {prepared.rest} finds what came later")


def _say_unread(prepared: Prepared) -> None:
    """Say how many records were rejected, and which was the first, and how many were filtered."""
    reading = prepared.reading
    if reading.rejected:
        were = "was" if reading.rejected == 1 else "were"
        say(
            f"{reading.rejected:,} of {reading.records:,} record{'s' * (reading.records != 1)} {were} rejected, the first at "
            f"{reading.example}; `graphtide match` or `statistics` over the file with --dead-letters FILE keeps them"
        )
    for text in notes_on_filtered(reading.filtered, reading.records):
        note(text)
    for text in notes_on_nothing_left(reading.filtered, reading.records):
        say(text)


def _prepare(run: Run, pattern_file: Path, bar: ProgressBar, *, is_new: bool) -> Prepared:
    """Prepare a run; a new one that cannot begin leaves no folder."""
    bar.describe("reading history")
    try:
        return run.backfill.prepare()
    except GraphtideError as error:
        if is_new:
            shutil.rmtree(run.results.path)
        if isinstance(error, InvalidPatternError):
            raise with_source(error, pattern_file) from error
        raise


def _write_summary(summary: Path | None, outcome: str, run: Run, by: int) -> None:
    if summary is None:
        return
    from graphtide_backfill.adapters.output import counted_by_time  # noqa: PLC0415 - see above

    by_time = counted_by_time(run.results, list(run.results.finished()), by)
    counts = {"outcome": outcome, **msgspec.to_builtins(run.backfill.totals()), "by_time": by_time}
    write_text(summary, msgspec.json.encode(counts).decode() + "\n")


def _write_results(results: ResultFolder, places: _Places, unit: TimeUnit, totals: RunTotals) -> None:
    """Write what was found, and say what was lost."""
    from graphtide_backfill.adapters.output import write_all, write_partitioned  # noqa: PLC0415 - see above

    slices = list(results.finished())
    if places.partitioned is not None:
        write_partitioned(results, slices, places.partitioned, unit)
    if places.output is not None or not (places.is_published or places.partitioned is not None):
        write_all(results, slices, places.output)
    _say_losses(totals)


def _say_losses(totals: RunTotals) -> None:
    if totals.duplicates:
        were = "record was dropped as a duplicate" if totals.duplicates == 1 else "records were dropped as duplicates"
        again = "the id came before in the window"
        say(f"{totals.duplicates:,} {were}: {again}; if it is not an id, --column id= reads without it")
    if not totals.is_exact:
        say("a pattern reached its limit: matches may be missing")
    for pattern, edges in totals.unmatched.items():
        for edge in edges:
            note(f"pattern {pattern!r}: no record could be edge {edge!r}; has history its labels and values?")


def _show(bar: ProgressBar, progress: Progress) -> None:
    bar.describe("matching")
    bar.update({"edges": progress.edges, "matches": progress.matches}, progress.slices_done, progress.slices)


def _say_plan(prepared: Prepared) -> None:
    estimate = prepared.estimate
    sys.stdout.write(
        f"{len(prepared.slices)} slices{_describe(prepared)} of {estimate.edges:,} edges; "
        f"{estimate.repeated:,} looked at again ({estimate.factor:.2f} times the work of one pass)\n"
        f"densest window: about {estimate.densest_edges:,} edges at {estimate.densest_ts}, "
        f"{estimate.memory_bytes / (1 << 20):,.0f} MB a slice\n"
    )
    division, by_part = prepared.manifest.cut.division, prepared.reading.by_part
    for each in prepared.slices:
        edges = prepared.reading.profile.between(each.start, each.end).total
        part = "" if division is None else f"  part {each.part} by {division.key}"
        if division is not None:
            edges = edges * by_part[each.part] // max(1, prepared.reading.profile.total)
        sys.stdout.write(f"{each.number:6d}  {each.start} to {each.end}{part}  about {edges:,} edges\n")


def _describe(prepared: Prepared) -> str:
    """Return by what history is cut beside time, if it is."""
    cut = prepared.manifest.cut
    return "" if cut.division is None else f" ({len(cut.bounds) - 1} of time, each in {cut.division})"


def _instant(text: str | None, option: str, unit: TimeUnit, read: Callable[[str, TimeUnit], int]) -> int | None:
    if text is None:
        return None
    found = read(text, unit)
    if not MIN_EVENT_TIME <= found <= MAX_EVENT_TIME:
        message = f"{text!r} is not a time of a stream: those are {MIN_EVENT_TIME} to {MAX_EVENT_TIME} {unit.value}"
        raise typer.BadParameter(message, param_hint=option)
    return found


def _ticks(text: str, option: str, unit: TimeUnit) -> int:
    return max(1, bounded_duration(text, option, unit).ticks_at_least(unit))
