"""Defines `graphtide bench scaling`: what dividing a stream brings, by a model."""

# No deferred annotations here: typer reads them when a command runs.
from pathlib import Path
from typing import Annotated

import typer
from graphtide.plot import to_svg

from graphtide_bench.scaling.dividing import DivisionSettings, charts, model_ways, table


def scaling_command(
    *,
    edges: Annotated[int, typer.Option("--edges", min=1, help="Of the window.")] = 20_000,
    vertices: Annotated[int, typer.Option("--vertices", min=2, help="That edges are drawn between.")] = 20_000,
    keys: Annotated[int, typer.Option("--keys", min=1, help="Values of the key.")] = 10_000,
    use: Annotated[float, typer.Option("--use", min=0.01, max=1.0, help="Share of a core that is planned with.")] = 0.5,
    seed: Annotated[int, typer.Option("--seed", help="Of the drawing.")] = 1,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw both charts as SVG.")] = None,
) -> None:
    """Model ways to divide a stream over shards: how often an edge is read, and what rate that carries."""
    settings = DivisionSettings(edges, vertices, keys, use, seed)
    ways = model_ways(settings)
    if plot is not None:
        plot.write_text(to_svg(charts(ways, use)), encoding="utf-8")
    typer.echo(table(ways, use), nl=False)
