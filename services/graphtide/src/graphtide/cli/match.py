"""`graphtide match`: patterns over a stream."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from graphtide_core.errors import InvalidPatternError
from graphtide_core.formats import match_formats, one_of
from graphtide_native.allocator import keep_pages
from graphtide_native.spec import Concurrency, Limits
from graphtide_query.families import AUTO

from graphtide.cli.arguments import (
    MOST,
    STANDARD,
    Engine,
    PatternFile,
    Plan,
    SchemaFile,
    StatisticsFrom,
    StreamFiles,
    Type,
    choice,
    planner_options,
    read_patterns_and_streams,
    refuse_shared_files,
    with_source,
)
from graphtide.cli.output import edge_lines, match_file, refuse_unwritable, valid_results, write_text
from graphtide.cli.progress import ProgressBar
from graphtide.cli.record_forms import FormOptions, add_form_options
from graphtide.cli.status import DONE, OUTPUT_CLOSED, UNREADABLE_STREAM, note, say, shown_by, status_of, status_of_share
from graphtide.cli.streams import (
    MAX_REJECTED,
    Columns,
    Duplicates,
    Format,
    Input,
    Lateness,
    MaxAhead,
    MaxRejected,
    UnitOfStream,
    files_of,
    max_rejected_of,
    of_another,
    of_stream,
    reading_of,
    stream_files,
    stream_of,
    unit_of,
)
from graphtide.notes import notes_on_bursts
from graphtide.readers import DeadLetterFile
from graphtide.remedies import by_command_line
from graphtide.run import Run, allow_unlabelled, prepare
from graphtide.wording import tally

if TYPE_CHECKING:
    from fractions import Fraction

_WRITTEN = one_of(match_formats())
_OUTCOMES = {"done": DONE, "output closed": OUTPUT_CLOSED, "unreadable": UNREADABLE_STREAM}


@add_form_options
def match(
    pattern_file: PatternFile,
    stream_file: StreamFiles = None,
    *,
    input: Input = None,
    engine: Engine = AUTO,
    plan: Plan = None,
    output: Annotated[
        Path | None,
        typer.Option(help=f"Where matches go: a name that ends in {_WRITTEN}; JSON Lines on standard output by default."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="Write the results of graph queries that are valid at a time: ticks, or a date.", show_default=False),
    ] = None,
    edges: Annotated[
        bool, typer.Option("--edges", help="Write the results of graph queries as edges, which are read again as a stream.")
    ] = False,
    summary: Annotated[Path | None, typer.Option(help="Where the counts of the run go, as JSON; - is standard output.")] = None,
    dead_letters: Annotated[Path | None, typer.Option(help="Where bad and late records go, as JSON Lines.")] = None,
    explain: Annotated[Path | None, typer.Option(help="Where the plans go, with actual counts, as text.")] = None,
    unit: UnitOfStream = None,
    lateness: Lateness = None,
    duplicates: Duplicates = None,
    max_ahead: MaxAhead = None,
    max_rejected: MaxRejected = MAX_REJECTED,
    column: Columns = None,
    format: Format = None,
    record_form: FormOptions,
    type: Type = None,
    schema: SchemaFile = None,
    statistics_from: StatisticsFrom = None,
    limit_partial_matches: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Partial matches a pattern may hold.")
    ] = None,
    limit_state_bytes: Annotated[int | None, typer.Option(min=1, max=MOST, help="Bytes of state a pattern may hold.")] = None,
    limit_work: Annotated[int | None, typer.Option(min=1, max=MOST, help="Steps of work a record, on average.")] = None,
    on_limit: Annotated[str, typer.Option(help="At a limit: fail (status 4), pause the pattern, or shed and say so.")] = "fail",
    threads: Annotated[int, typer.Option(min=1, max=64, hidden=True, help="Threads of the timing engine.")] = 1,
    locking: Annotated[str, typer.Option(hidden=True, help="Locks of several threads: fine, or all at once.")] = "fine",
) -> None:
    """Find every match of the patterns in a stream, each when its last edge arrives.

    Matches go out as JSON Lines, or to a file in the format of its name. Exit status: 0 if done, 2 if a pattern is invalid, 3
    if the stream is unreadable or all its records were rejected. It is 4 if a limit was reached, 5 if more records were
    rejected than --max-rejected allows. It is 130 if interrupted, 141 if the output was closed, 143 if ended by SIGTERM. After
    every end, matches so far are written and the summary is true. Standard error says what was lost: records rejected or
    dropped, work given up at a limit.
    """
    refuse_shared_files(
        {
            "PATTERN_FILE": pattern_file,
            **stream_files(stream_file),
            "--statistics-from": statistics_from,
            "--schema": schema,
            **files_of(input),
        },
        {"--output": output, "--summary": summary, "--dead-letters": dead_letters, "--explain": explain},
    )
    refuse_unwritable([summary, explain])
    most = max_rejected_of(max_rejected)
    keep_pages()
    stated, patterns = read_patterns_and_streams(pattern_file)
    records = record_form.read(stated)
    stream = stream_of(patterns, stream_file, input)
    chosen_options = planner_options(engine, plan)
    counted = unit_of(unit, next(iter(stream_file or ()), None), column=column, format=format, records=records)
    options = replace(
        of_stream(lateness, column, counted, type, schema, records=records, duplicates=duplicates).with_planner_options(
            chosen_options
        ),
        limits=Limits(
            limit_partial_matches,
            limit_state_bytes,
            choice(on_limit, {policy: policy for policy in ("fail", "pause", "shed")}, "--on-limit"),
            limit_work,
        ),
        concurrency=Concurrency(threads, choice(locking, {"fine": "fine", "all": "all"}, "--locking")),
    )
    reading = reading_of(options, format, max_ahead, keep_raw=dead_letters is not None)
    if statistics_from is not None:
        from graphtide.explaining import statistics_of  # noqa: PLC0415 - other runs do without

        sampled = of_another(allow_unlabelled(reading, patterns), is_same=[str(statistics_from)] == stream_file)
        options = replace(options, statistics=statistics_of(statistics_from, options, say, sampled))
    for text in notes_on_bursts(patterns, options.statistics, options.time_unit):
        note(text)
    with contextlib.ExitStack() as stack:
        sink = match_file(output, patterns, options)
        stack.enter_context(sink)
        valid = None if at is None else valid_results(at, patterns, sink, options)
        written = edge_lines(patterns, sink, at) if edges else sink
        letters = stack.enter_context(DeadLetterFile(dead_letters)) if dead_letters is not None else None
        run = prepare(patterns, stream, options, reading=reading, matches=valid or written, dead_letters=letters)
        # Said when the bar has gone, however the run ends.
        stack.callback(_say_losses, run, dead_letters)
        bar = stack.enter_context(ProgressBar("matching", writes=str(output or STANDARD) == STANDARD))
        run.on_progress = lambda: bar.update_from(run.reader, matches=run.found)
        run.on_first_loss = note
        run.until = None if valid is None else valid.at
        try:
            result = run.execute()
        except InvalidPatternError as error:
            raise with_source(error, pattern_file) from error
        if valid is not None:
            with contextlib.suppress(BrokenPipeError):
                valid.write()
                valid.flush()
    for text in run.notes():
        note(text)
    outcome = result.outcome
    try:
        if summary is not None:
            write_text(summary, result.to_json().decode() + "\n")
        if explain is not None:
            from graphtide.explaining import run_explain  # noqa: PLC0415 - as above

            write_text(explain, run_explain(run).to_text() + "\n")
    except BrokenPipeError:
        outcome = "output closed"
    if run.interrupt is not None:
        run.interrupt.add_note(tally({"records": result.records, "matches": result.matches}))
    _end(run, outcome, most)


def _say_losses(run: Run, dead_letters: Path | None) -> None:
    for text in run.losses(shown_by(dead_letters), by_command_line(run.pipeline.time_unit)).sentences:
        say(text)


def _end(run: Run, outcome: str, most: Fraction) -> None:
    if run.error is not None:
        say(str(run.error))
        raise typer.Exit(status_of(run.error))
    if outcome == "output closed":
        # The reader of the pipe is gone: what is still buffered must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if run.interrupt is not None:
        raise run.interrupt
    raise typer.Exit(_OUTCOMES[outcome] or status_of_share(run.rejections.count, run.reader.records, most))
