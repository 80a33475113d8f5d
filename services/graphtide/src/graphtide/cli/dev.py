"""`graphtide dev`: a deployment on this machine, to try things."""

import errno
import os
import socket
from math import inf
from typing import Annotated, Final

import typer
from graphtide_core.errors import FatalError
from graphtide_core.time import TimeUnit

from graphtide.cli.arguments import MOST, bounded_duration
from graphtide.cli.signals import starting
from graphtide.extras import needing

_HOST: Final = "127.0.0.1"

_GRACE_SECONDS: Final = 1
"""How long requests under way may take after a signal: somebody waits for the end."""

app = typer.Typer(help="Run all services in one process, to try things.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def dev() -> None:
    """Run all services in one process, to try things."""


@app.command("up")
def up(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of 127.0.0.1 for HTTP.")] = 8080,
    kafka: Annotated[str | None, typer.Option(help="host:port of a Kafka; the log is in memory if not given.")] = None,
    redis: Annotated[str | None, typer.Option(help="URL of a Redis for checkpoints; in memory if not given.")] = None,
    lateness: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=MOST,
            help="How many ticks after a newer edge an edge may come; 1000, a second, if not given, 0 with --low-latency.",
        ),
    ] = None,
    max_ahead: Annotated[
        str | None, typer.Option(help="How far ahead of the clock an edge may be, such as 5m, or inf; 5m if not given.")
    ] = None,
    low_latency: Annotated[bool, typer.Option("--low-latency", help="Hand on edges at once, one by one.")] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Play a day of network flows and log-ins with planted attacks, and look for them.")
    ] = False,
    speed: Annotated[
        float, typer.Option(min=1, max=3_600, help="How many times faster than it was --demo plays a day.")
    ] = 60.0,
) -> None:
    """Serve patterns, edges and matches over HTTP until interrupted; nothing else has to run, and everyone may do everything.

    Without --kafka everything is gone when it ends. It ends with status 0 on SIGINT (Ctrl-C) and SIGTERM. With --demo it plays
    the streams flows and logins from yesterday on, and registers three patterns that look for what is in them.
    """
    ahead = None if max_ahead is None else _seconds(max_ahead)
    with _listening(port) as bound:
        # The port is ours before anything is loaded that takes its time; clients that connect meanwhile wait.
        with starting(), needing("server", "dev up"):
            from graphtide_serving.running import run  # noqa: PLC0415 - only this verb needs the services
            from graphtide_telemetry.logs import to_standard_error  # noqa: PLC0415
            from graphtide_telemetry.settings import TelemetrySettings  # noqa: PLC0415
            from graphtide_telemetry.setup import set_up  # noqa: PLC0415

            from graphtide.dev.demo_streams import DemoStreams  # noqa: PLC0415
            from graphtide.dev.deployment import DevOptions, application  # noqa: PLC0415
        to_standard_error()
        set_up("graphtide-dev", TelemetrySettings())
        own = bound.getsockname()[1]
        url = f"http://{_HOST}:{own}"
        played = DemoStreams(url, speed) if demo else None

        def say() -> None:
            typer.echo(f"serving at {url}  (no authentication: for development alone)", err=True)
            typer.echo(f"the console, for your browser: {url}/console/", err=True)
            if played is not None:
                typer.echo("playing yesterday's flows and log-ins with planted attacks; the first matches come soon", err=True)
                played.start()

        try:
            app = application(DevOptions(kafka, redis, lateness, low_latency, ahead))
            run(app, _HOST, own, grace_seconds=_GRACE_SECONDS, bound=bound, on_started=say)
            kept = "; its streams, patterns and matches were in memory alone" if kafka is None else ""
            typer.echo(f"ended{kept}", err=True)
        finally:
            if played is not None:
                played.end()


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((_HOST, port))
    except OSError as error:
        is_used = error.errno == errno.EADDRINUSE
        reason = "is in use" if is_used else f"cannot be listened to ({os.strerror(error.errno or 0)})"
        message = f"port {port} of {_HOST} {reason}: name another by --port NUMBER, or let --port 0 take a free one"
        raise FatalError(message) from error


def _seconds(max_ahead: str) -> float:
    """Return a length of time in seconds; a number alone counts milliseconds, as streams here do."""
    return inf if max_ahead == "inf" else _milliseconds(max_ahead) / 1000


def _milliseconds(max_ahead: str) -> int:
    return bounded_duration(max_ahead, "--max-ahead", TimeUnit.MILLISECOND).ticks_at_least(TimeUnit.MILLISECOND)
