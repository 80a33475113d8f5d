"""`graphtide statistics`: what a stream is made of, as a table, as JSON, or drawn over time."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from graphtide_core.statistics import StatisticsSnapshot, merge, to_json
from graphtide_core.time import TimeUnit

from graphtide.cli.arguments import (
    MOST,
    STANDARD,
    StreamFile,
    choice,
    duration,
    refuse_shared_files,
)
from graphtide.cli.output import refuse_unwritable, write_text
from graphtide.cli.progress import ProgressBar
from graphtide.cli.record_forms import FormOptions, add_form_options
from graphtide.cli.status import DONE, say, shown_by, status_of_share
from graphtide.cli.streams import (
    MAX_REJECTED,
    Columns,
    Duplicates,
    FormatOfStream,
    Lateness,
    MaxAhead,
    MaxRejected,
    UnitOfStream,
    max_rejected_of,
    of_stream,
    reading_of,
    unit_of,
)
from graphtide.counted_features import CountedFeatures
from graphtide.counting import Counting
from graphtide.plot import to_svg
from graphtide.readers import DeadLetterFile, open_stream
from graphtide.remedies import by_command_line
from graphtide.statistics_charts import CHARTS, DRAWN, to_charts
from graphtide.statistics_report import to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide.options import MatchOptions


@add_form_options
def statistics(
    stream_file: StreamFile,
    *,
    window: Annotated[
        str | None, typer.Option(help="Length of the window, such as 10m; the whole stream if not given.", show_default=False)
    ] = None,
    tumbling: Annotated[bool, typer.Option("--tumbling", help="Window after window, not only the last.")] = False,
    format: Annotated[str, typer.Option(help="table, json (a window a line), or plot (SVG over tumbling windows).")] = "table",
    output: Annotated[Path | None, typer.Option(help="Where it goes; standard output by default.")] = None,
    top: Annotated[int, typer.Option(min=1, max=MOST, help="Edge types and paths to show, the most frequent first.")] = 10,
    chart: Annotated[
        list[str] | None,
        typer.Option(help=f"With --format plot, as often as wanted: {', '.join(CHARTS)}; types and paths if not given."),
    ] = None,
    series: Annotated[
        list[str] | None,
        typer.Option(help="With --format plot, as often as wanted: a label, or an edge type as it is drawn, to show."),
    ] = None,
    unit: UnitOfStream = None,
    lateness: Lateness = None,
    duplicates: Duplicates = None,
    max_ahead: MaxAhead = None,
    max_rejected: MaxRejected = MAX_REJECTED,
    column: Columns = None,
    stream_format: FormatOfStream = None,
    record_form: FormOptions,
    dead_letters: Annotated[Path | None, typer.Option(help="Where bad and late records go, as JSON Lines.")] = None,
) -> None:
    """Count the edge types, 2-edge paths and degrees of a stream, over all of it or over windows of time.

    Bad and late records do not count; standard error reports them. Status 3 if no record could be used, 5 if more were rejected
    than --max-rejected allows.
    """
    refuse_shared_files({"STREAM_FILE": stream_file}, {"--output": output, "--dead-letters": dead_letters})
    refuse_unwritable([output])
    form = choice(format, {name: name for name in ("table", "json", "plot")}, "--format")
    records = record_form.read()
    counted = unit_of(unit, stream_file, column=column, format=stream_format, records=records)
    ticks = None if window is None else duration(window, "--window").ticks_at_least(counted)
    if ticks is None and (tumbling or form == "plot"):
        message = "windows side by side need a length: add --window"
        raise typer.BadParameter(message, param_hint="--window")
    if ticks == 0:
        message = "a window is at least one tick long"
        raise typer.BadParameter(message, param_hint="--window")
    options = of_stream(lateness, column, counted, records=records, duplicates=duplicates)
    reading = reading_of(
        options,
        stream_format,
        max_ahead,
        keep_raw=dead_letters is not None,
        option="--stream-format",
    )
    most = max_rejected_of(max_rejected)
    late = int(options.lateness.ticks(options.time_unit))
    _refuse_needless(form, {"--chart": chart, "--series": series})
    for name in chart or ():
        choice(name, {name: name for name in CHARTS}, "--chart")
    with contextlib.ExitStack() as stack:
        letters = stack.enter_context(DeadLetterFile(dead_letters)) if dead_letters is not None else None
        emitted = _find_emitted(options)
        reader = open_stream(stream_file, reading if emitted is None else replace(reading, attributes=emitted.inputs))
        windows = tumbling or form == "plot"
        counting = Counting(
            reader,
            reading.symbols,
            ticks,
            tumbling=windows,
            lateness=late,
            duplicates=options.duplicates,
            dead_letters=letters,
            emitted=emitted,
        )
        try:
            with ProgressBar("counting") as bar:
                counting.on_progress = lambda: bar.update_from(reader)
                snapshots = list(counting.snapshots())
        finally:
            for text in counting.losses(shown_by(dead_letters), by_command_line(options.time_unit), options.columns):
                say(text)
    try:
        text = _render(snapshots, form, top, options.time_unit, charts=chart or DRAWN, series=series or ())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--series") from error
    _write(text, output)
    if (status := status_of_share(counting.rejections.count, reader.records, most)) != DONE:
        raise typer.Exit(status)


def _find_emitted(options: MatchOptions) -> CountedFeatures | None:
    """Return what EMIT clauses give of the stream; None without any."""
    found = CountedFeatures(options.record_options.stream, (), options.time_unit)
    return found if found.labels else None


def _refuse_needless(form: str, given: dict[str, list[str] | None]) -> None:
    for option, values in given.items():
        if values and form != "plot":
            message = "it says what to draw: add --format plot"
            raise typer.BadParameter(message, param_hint=option)


def _render(
    snapshots: Sequence[StatisticsSnapshot],
    form: str,
    top: int,
    unit: TimeUnit,
    *,
    charts: Sequence[str],
    series: Sequence[str],
) -> str:
    match form:
        case "json":
            return "".join(to_json(snapshot) + "\n" for snapshot in snapshots)
        case "plot":
            return to_svg(to_charts(snapshots, unit, top, charts, series))
        case _:
            return to_text(snapshots, reduce(merge, snapshots), top, unit)


def _write(text: str, output: Path | None) -> None:
    if output is None or str(output) == STANDARD:
        sys.stdout.write(text)
        return
    write_text(output, text)
