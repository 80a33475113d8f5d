"""The commands and what they are called."""

from __future__ import annotations

import typer

from graphtide.bench.cli import app as bench
from graphtide.cli.backfill import backfill
from graphtide.cli.demo import demo
from graphtide.cli.dev import app as dev
from graphtide.cli.explain import explain
from graphtide.cli.generate import generate
from graphtide.cli.match import match
from graphtide.cli.server import apply, delete, describe, get, pause, resume, tail, wait
from graphtide.cli.statistics import statistics
from graphtide.cli.validate import validate

app = typer.Typer(
    name="graphtide",
    help="Find patterns in streams of graph edges the moment they complete.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(match)
app.command()(explain)
app.command()(validate)
app.command()(generate)
app.command()(statistics)
app.command()(backfill)
app.command()(demo)
for verb in (apply, get, describe, wait, tail, pause, resume, delete):
    app.command(rich_help_panel="With a server")(verb)
app.add_typer(dev, name="dev", help="Run all services in one process, to try things.")
app.add_typer(bench, name="bench", help="Measure the engines on seeded workloads.")
