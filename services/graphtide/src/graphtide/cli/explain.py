"""`graphtide explain`: how patterns would be matched, and how they were."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer
from graphtide_core.errors import FatalError, InvalidPatternError
from graphtide_query.families import AUTO

from graphtide.cli.arguments import (
    MOST_AT_ONCE,
    ApiKey,
    Engine,
    Plan,
    SchemaFile,
    StatisticsFrom,
    Token,
    Type,
    choice,
    planner_options,
    read_patterns_and_streams,
    refuse_shared_files,
    with_source,
)
from graphtide.cli.progress import ProgressBar
from graphtide.cli.record_forms import FormOptions, add_form_options
from graphtide.cli.status import DONE, note, say, shown_by, status_of_share
from graphtide.cli.streams import (
    MAX_REJECTED,
    Columns,
    Duplicates,
    FormatOfStream,
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
    stream_of,
    unit_of,
)
from graphtide.explaining import NEAR_MISSES, analyze_run, plan_each, refuse_vain_questions, run_explain, statistics_of
from graphtide.explanations import FORMATS
from graphtide.notes import notes_on_bursts
from graphtide.readers import DeadLetterFile
from graphtide.remedies import by_command_line
from graphtide.run import allow_unlabelled
from graphtide.wording import tally

_OF_SERVERS: Final = ("text", "json", "dot")
"""Formats that a server writes."""


@add_form_options
def explain(
    patterns: Annotated[
        Path, typer.Argument(help="File with one or several patterns; with --server the name of one.", show_default=False)
    ],
    *,
    engine: Engine = AUTO,
    plan: Plan = None,
    statistics_from: StatisticsFrom = None,
    analyze: Annotated[
        str | None,
        typer.Option(
            help="Match this stream first, and show actual counts, the match funnel and near misses. "
            "For several streams use --input instead.",
            show_default=False,
        ),
    ] = None,
    input: Input = None,
    near_misses: Annotated[
        int,
        typer.Option(min=0, max=MOST_AT_ONCE, help="With --analyze: how many partial matches that came near a match to show."),
    ] = NEAR_MISSES,
    why_not: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="With --analyze: an edge, to explain under dual simulation why it is in no match; or NAME=ID,… to explain why "
            "these events are not a match of an event pattern; may be repeated.",
            show_default=False,
        ),
    ] = None,
    dead_letters: Annotated[
        Path | None, typer.Option(help="With --analyze: where bad and late records go, as JSON Lines.", show_default=False)
    ] = None,
    format: Annotated[str, typer.Option(help="text, json, dot, mermaid, svg or html; of a server text, json or dot.")] = "text",
    unit: UnitOfStream = None,
    lateness: Lateness = None,
    duplicates: Duplicates = None,
    max_ahead: MaxAhead = None,
    max_rejected: MaxRejected = MAX_REJECTED,
    column: Columns = None,
    stream_format: FormatOfStream = None,
    record_form: FormOptions,
    type: Type = None,
    schema: SchemaFile = None,
    server: Annotated[str | None, typer.Option(help="URL of a server whose running plan to show.", show_default=False)] = None,
    api_key: ApiKey = None,
    token: Token = None,
) -> None:
    """Show the plan of each pattern: decomposition, join order, estimated and actual cardinalities.

    With --analyze, or --input for each of several streams, it also shows what happened in a run. That is the match funnel, what
    each step of the plan looked at and why it refused it. It says why there was no match or not one more. The status is 3 if no
    record could be used, 5 if more were rejected than --max-rejected allows. An interrupt shows what was seen so far, status
    130. With --server the plan that a server runs, with the partial matches alive in every item.
    """
    formats = FORMATS if server is None else _OF_SERVERS
    form = choice(format, {name: name for name in formats}, "--format")
    if server is not None:
        typer.echo(_running(str(patterns), form, server, api_key, token).rstrip())
        return
    stated, parsed = read_patterns_and_streams(patterns)
    records, chosen_options = record_form.read(stated), planner_options(engine, plan)
    sampled_file = analyze or (None if statistics_from is None else str(statistics_from))
    counted = unit_of(unit, sampled_file, column=column, format=stream_format, records=records)
    options = of_stream(lateness, column, counted, type, schema, records=records, duplicates=duplicates).with_planner_options(
        chosen_options
    )
    reading = reading_of(
        options,
        stream_format,
        max_ahead,
        keep_raw=dead_letters is not None,
        option="--stream-format",
    )
    most = max_rejected_of(max_rejected)
    if dead_letters is not None and analyze is None and input is None:
        message = "no stream is matched: add --analyze STREAM_FILE"
        raise typer.BadParameter(message, param_hint="--dead-letters")
    refuse_shared_files(
        {
            "PATTERNS": patterns,
            "--analyze": analyze,
            "--statistics-from": statistics_from,
            "--schema": schema,
            **files_of(input),
        },
        {"--dead-letters": dead_letters},
    )
    asked = why_not or []
    stream = (
        None
        if analyze is None and input is None
        else stream_of(parsed, None if analyze is None else [analyze], input, option="--analyze")
    )
    try:
        refuse_vain_questions(parsed, stream, asked)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--why-not") from error
    if statistics_from is not None:
        sampled = of_another(allow_unlabelled(reading, parsed), is_same=analyze in {None, str(statistics_from)})
        options = replace(options, statistics=statistics_of(statistics_from, options, say, sampled))
    for text in notes_on_bursts(parsed, options.statistics, options.time_unit):
        note(text)
    if stream is None:
        typer.echo(FORMATS[form](plan_each(parsed, options)))
        return
    with contextlib.ExitStack() as stack:
        letters = stack.enter_context(DeadLetterFile(dead_letters)) if dead_letters is not None else None
        try:
            bar = stack.enter_context(ProgressBar("matching"))
            run = analyze_run(
                parsed,
                stream,
                options,
                near_misses,
                why_not=asked,
                dead_letters=letters,
                reading=reading,
                on_progress=lambda run: bar.update_from(run.reader, matches=run.found),
            )
        except InvalidPatternError as error:
            raise with_source(error, patterns) from error
    losses = run.losses(shown_by(dead_letters), by_command_line(options.time_unit))
    for text in losses.sentences:
        say(text)
    for text in run.notes():
        note(text)
    if run.error is not None:
        raise run.error
    typer.echo(FORMATS[form](run_explain(run)))
    if run.interrupt is not None:
        run.interrupt.add_note(tally({"records": run.reader.records, "matches": run.found}))
        raise run.interrupt
    if (status := status_of_share(run.rejections.count, run.reader.records, most)) != DONE:
        raise typer.Exit(status)


def _running(name: str, form: str, url: str, api_key: str | None, token: str | None) -> str:
    from graphtide.server import Access, Server  # noqa: PLC0415 - without a server nothing of HTTP is needed

    with Server(Access(url, api_key, token)) as there:
        found = there.plan(name, form)
    if found is None:
        message = f"the server has no pattern {name!r}, or no plan for it yet"
        raise FatalError(message)
    return found
