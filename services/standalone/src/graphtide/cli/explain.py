"""`graphtide explain`: how patterns would be matched, and how they were."""

from __future__ import annotations

from typing import Annotated

import typer
from graphtide_core.errors import InvalidPatternError
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
    with_source,
)
from graphtide.explaining import NEAR_MISSES
from graphtide.explaining import explain as explain_patterns
from graphtide.options import MatchOptions


def explain(
    pattern_file: PatternFile,
    *,
    engine: Engine = AUTO,
    plan: Plan = None,
    statistics_from: StatisticsFrom = None,
    analyze: Annotated[
        str | None, typer.Option(help="Match this stream first, and show actual figures, the match funnel and near misses.")
    ] = None,
    near_misses: Annotated[
        int, typer.Option(min=0, help="With --analyze: how many partial matches that came near a match to show.")
    ] = NEAR_MISSES,
    format: Annotated[str, typer.Option(help="text, json or dot.")] = "text",
    unit: TimeUnitOption = "ms",
) -> None:
    """Show the plan of each pattern: decomposition, join order, estimated and actual cardinalities.

    With --analyze also the match funnel, what each step of the plan looked at and why it refused it, and why there was no
    match or not one more.
    """
    patterns = read_patterns(pattern_file)
    form = choice(format, {name: name for name in ("text", "json", "dot")}, "--format")
    chosen = variant(plan, engine_name(engine))
    options = MatchOptions(
        engine=engine,
        storage=chosen.storage,
        strategy=chosen.strategy,
        time_unit=time_unit(unit),
    )
    try:
        text = explain_patterns(patterns, statistics_from, options, analyze=analyze, near_misses=near_misses, format=form)
    except InvalidPatternError as error:
        raise with_source(error, pattern_file) from error
    typer.echo(text)
