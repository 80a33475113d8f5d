"""The verbs of the job on Spark."""

from __future__ import annotations

import logging
import sys
from typing import Annotated

import msgspec
import typer
from graphtide_core.ids import StreamName

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
        from graphtide_log.kafka import KafkaLog  # noqa: PLC0415 - Spark is an extra
        from graphtide_log.kafka.errors import LOGGER  # noqa: PLC0415
        from graphtide_preprocess.application.status import read_status  # noqa: PLC0415
        from graphtide_preprocess.settings import Settings  # noqa: PLC0415
        from graphtide_wire.topics import Topics  # noqa: PLC0415
    settings = Settings()
    asked = streams or settings.streams
    if not asked:
        message = "no stream is named, and GRAPHTIDE_PREPROCESS_STREAMS is not set"
        raise typer.BadParameter(message)
    # A log that cannot be reached is an error of its own, with one message.
    LOGGER.setLevel(logging.CRITICAL)
    log, topics = KafkaLog(settings.kafka.connection("graphtide-preprocess-status")), Topics(settings.prefix)
    for name in asked:
        found = read_status(log, topics, StreamName(name))
        sys.stdout.write(f"{msgspec.json.encode(found).decode()}\n")
