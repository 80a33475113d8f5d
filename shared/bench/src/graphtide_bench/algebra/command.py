"""Defines `graphtide bench algebra`."""

# No deferred annotations here: typer reads them when a command runs.
from pathlib import Path
from typing import Annotated

import typer
from graphtide.plot import to_svg
from graphtide_core.plans import PathEngine
from graphtide_core.time import TimeUnit

from graphtide_bench.algebra import charts
from graphtide_bench.algebra import runs as cases
from graphtide_bench.algebra.queries import PLANS, QUERIES
from graphtide_bench.algebra.tables import ALGEBRA
from graphtide_bench.frame.arguments import Markdown, Output, Repeats, hand_out, known_names, running, split
from graphtide_bench.frame.report import Report

_ENGINES = tuple(engine.value for engine in PathEngine)
_UNITS = {unit.value: unit for unit in TimeUnit}
_PLACES = ("a", "b", "c")


def algebra_command(
    *,
    stream: Annotated[Path, typer.Option("--stream", help="A CSV file with ts, src, dst and label, sorted by ts; .gz too.")],
    labels: Annotated[str, typer.Option("--labels", help="What the labels of Table 1 are in it: a=knows,b=likes,c=…")],
    query: Annotated[str, typer.Option("--query", help=f"Any of {','.join(QUERIES)}.")] = ",".join(QUERIES),
    plan: Annotated[str, typer.Option("--plan", help=f"Any of {','.join(PLANS)}; of each query those that it has.")] = ",".join(
        PLANS
    ),
    engine: Annotated[str, typer.Option("--engine", help=f"Any of {','.join(_ENGINES)}.")] = PathEngine.S_PATH.value,
    window: Annotated[str, typer.Option("--window", help="Durations.")] = "30d",
    slide: Annotated[str, typer.Option("--slide", help="Durations.")] = "1d",
    time_unit: Annotated[str, typer.Option("--time-unit", help=f"Of ts: any of {','.join(_UNITS)}.")] = TimeUnit.SECOND.value,
    edges: Annotated[int | None, typer.Option("--edges", min=1, help="Of the labels; all if not given.")] = None,
    self_loops: Annotated[bool, typer.Option("--self-loops", help="Keep edges from a vertex to itself.")] = False,
    repeats: Repeats = 3,
    output: Output = None,
    markdown: Markdown = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw rates over windows and slides as SVG.")] = None,
) -> None:
    """Answer the queries of paper 001's Table 1 by several plans, which must give the same results."""
    pairs = dict(pair.partition("=")[::2] for pair in split(labels))
    if sorted(pairs) != list(_PLACES) or not all(pairs.values()):
        message = f"each of {', '.join(_PLACES)} must be given a label once"
        raise typer.BadParameter(message, param_hint="--labels")
    settings = cases.AlgebraSettings(
        stream=stream,
        labels=pairs,
        queries=known_names(split(query), QUERIES, "--query"),
        plans=known_names(split(plan), PLANS, "--plan"),
        engines=tuple(PathEngine(name) for name in known_names(split(engine), _ENGINES, "--engine")),
        windows=split(window),
        slides=split(slide),
        unit=_UNITS[known_names((time_unit,), _UNITS, "--time-unit")[0]],
        limit=edges,
        self_loops=self_loops,
        repeats=repeats,
    )
    with running() as progress:
        runs = cases.run(settings, progress)
        report = Report.of("algebra", cases.check(runs), (ALGEBRA, runs))
    hand_out(report, output, markdown)
    if plot is not None:
        plot.write_text(to_svg(charts.charts(runs)), encoding="utf-8")
