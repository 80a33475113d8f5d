"""`graphtide explain`: how patterns would be matched, and how they were."""

from __future__ import annotations

from typing import Annotated

import typer
from graphtide_query.planner import AUTO

from graphtide.cli.arguments import (
    Engine,
    PatternFile,
    Plan,
    StatisticsFrom,
    TimeUnitOption,
    choice,
    engine_name,
    read_patterns,
    time_unit,
    variant,
)
from graphtide.cli.status import status_of
from graphtide.explaining import explained
from graphtide.options import MatchOptions
from graphtide.readers import ReaderOptions
from graphtide.run import prepare
from graphtide.session import explain as explain_patterns
from graphtide.session import rendered


class _Nowhere:
    """A `MatchSink` that keeps nothing."""

    def write(self, lines: bytes) -> None:
        """Forget the lines."""

    def flush(self) -> None:
        """Do nothing."""


def explain(
    pattern_file: PatternFile,
    *,
    engine: Engine = AUTO,
    plan: Plan = None,
    statistics_from: StatisticsFrom = None,
    analyze: Annotated[
        str | None, typer.Option(help="Match this stream first, and show actual figures beside the estimates.")
    ] = None,
    format: Annotated[str, typer.Option(help="text, json or dot.")] = "text",
    unit: TimeUnitOption = "ms",
) -> None:
    """Show the plan of each pattern: decomposition, join order, estimated and actual cardinalities."""
    patterns = read_patterns(pattern_file)
    form = choice(format, {name: name for name in ("text", "json", "dot")}, "--format")
    chosen = variant(plan, engine_name(engine))
    options = MatchOptions(
        engine=engine,
        storage=chosen.storage,
        strategy=chosen.strategy,
        time_unit=time_unit(unit),
    )
    if analyze is None:
        typer.echo(explain_patterns(patterns, statistics_from, options, format=form))
        return
    run = prepare(patterns, analyze, options, reading=ReaderOptions(keep_raw=False), matches=_Nowhere())
    run.execute()
    if run.error is not None:
        typer.echo(f"graphtide: {run.error}", err=True)
        raise typer.Exit(status_of(run.error))
    typer.echo(rendered(explained(run), form))
