"""`graphtide explain`: how patterns would be matched, and how they were."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from graphtide_core.errors import FatalError, InvalidPatternError
from graphtide_query.planner import AUTO

from graphtide.cli.arguments import (
    Engine,
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
from graphtide.cli.server import ApiKey, Token
from graphtide.explaining import NEAR_MISSES
from graphtide.explaining import explain as explain_patterns
from graphtide.options import MatchOptions
from graphtide.server import Access, Server


def explain(
    patterns: Annotated[
        Path, typer.Argument(help="File with one or several patterns; with --server the name of one.", show_default=False)
    ],
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
    server: Annotated[str | None, typer.Option(help="URL of a server whose running plan to show.", show_default=False)] = None,
    api_key: ApiKey = None,
    token: Token = None,
) -> None:
    """Show the plan of each pattern: decomposition, join order, estimated and actual cardinalities.

    With --analyze also the match funnel, what each step of the plan looked at and why it refused it, and why there was no
    match or not one more. With --server the plan that a server runs, with the partial matches alive in every item.
    """
    form = choice(format, {name: name for name in ("text", "json", "dot")}, "--format")
    if server is not None:
        typer.echo(_running(str(patterns), form, Access(server, api_key, token)).rstrip())
        return
    chosen = variant(plan, engine_name(engine))
    options = MatchOptions(
        engine=engine,
        storage=chosen.storage,
        strategy=chosen.strategy,
        time_unit=time_unit(unit),
    )
    try:
        text = explain_patterns(
            read_patterns(patterns), statistics_from, options, analyze=analyze, near_misses=near_misses, format=form
        )
    except InvalidPatternError as error:
        raise with_source(error, patterns) from error
    typer.echo(text)


def _running(name: str, form: str, access: Access) -> str:
    with Server(access) as there:
        found = there.plan(name, form)
    if found is None:
        message = f"the server has no pattern {name!r}, or no plan for it yet"
        raise FatalError(message)
    return found
