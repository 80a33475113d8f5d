"""The verbs of the job on Spark."""

from __future__ import annotations

import sys
from typing import Annotated

import msgspec
import typer

from graphtide.cli.signals import starting
from graphtide.extras import needing

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def main() -> None:
    """Look at the job that orders streams on Spark."""


@app.command()
def status(
    streams: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STREAM]...", help="Streams; default: those of the job.", show_default=False),
    ] = None,
) -> None:
    """Write how far the job is with each stream, one JSON object a line.

    The settings are those of the job: GRAPHTIDE_PREPROCESS_KAFKA__BOOTSTRAP, _PREFIX, _STREAMS and so on. It reads the log, so
    the job need not run.
    """
    with starting(), needing("spark", "preprocess status"):
        from graphtide_preprocess.bootstrap import read_statuses  # noqa: PLC0415 - Spark is an extra
    for found in read_statuses(streams or ()):
        sys.stdout.write(f"{msgspec.json.encode(found).decode()}\n")
