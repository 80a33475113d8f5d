"""`graphtide dev`: a deployment on this machine, to try things."""

from typing import Annotated

import typer
from graphtide_core.errors import FatalError

app = typer.Typer(help="Run all services in one process, to try things.", no_args_is_help=True)


@app.callback()
def dev() -> None:
    """Run all services in one process, to try things."""


@app.command("up")
def up(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of 127.0.0.1 for HTTP.")] = 8080,
    kafka: Annotated[str | None, typer.Option(help="host:port of a Kafka; the log is in memory if not given.")] = None,
    redis: Annotated[str | None, typer.Option(help="URL of a Redis for checkpoints; in memory if not given.")] = None,
    lateness: Annotated[int, typer.Option(min=0, help="Ticks by which an edge may come later than a newer one.")] = 0,
    low_latency: Annotated[bool, typer.Option("--low-latency", help="Let edges go on at once, one by one.")] = False,
) -> None:
    """Serve patterns, edges and matches over HTTP until interrupted; nothing else has to run, and everyone may do everything.

    Without --kafka everything is gone when it ends.
    """
    try:
        # Only this verb needs the services.
        import uvicorn  # noqa: PLC0415
        from graphtide_runtime.telemetry.logs import to_standard_error  # noqa: PLC0415
        from graphtide_runtime.telemetry.settings import TelemetrySettings  # noqa: PLC0415
        from graphtide_runtime.telemetry.setup import set_up  # noqa: PLC0415

        from graphtide.dev.deployment import DevOptions, application  # noqa: PLC0415
    except ImportError as error:
        message = f"the services are not installed ({error}): install graphtide[server]"
        raise FatalError(message) from error
    typer.echo(f"http://127.0.0.1:{port}/api/v1  (no authentication: for development alone)", err=True)
    to_standard_error()
    set_up("graphtide-dev", TelemetrySettings())
    options = DevOptions(kafka, redis, lateness, low_latency)
    uvicorn.run(application(options), host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=3)
