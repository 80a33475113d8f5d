"""`graphtide round-trip`: shows that a deployment works, by edges that go in and their match that comes out."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer
from graphtide_core.errors import FatalError

from graphtide.cli.arguments import URL, ApiKey, TimeUnitOption, Token, Url, time_unit
from graphtide.cli.progress import ProgressBar
from graphtide.client import Client
from graphtide.server_errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

_BETWEEN_LOOKS: Final = 0.2

_TEXT: Final = "PATTERN {name} MATCH (a)-[x:{name}]->(b), (b)-[y:{name}]->(a) ON {stream} WINDOW 10m"
"""Its label is its own, so it matches no other edges of the stream, and no other pattern matches its edges."""


def round_trip(
    stream: Annotated[str, typer.Argument(help="Stream that the edges go to; it has to be there.", show_default=False)],
    *,
    edges_server: Annotated[
        str | None,
        typer.Option(
            envvar="GRAPHTIDE_EDGES_SERVER", help="URL of ingestion, where that is not the server's.", show_default=False
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0, help="Seconds to wait at most.")] = 60.0,
    unit: TimeUnitOption = "ms",
    server: Url = URL,
    api_key: ApiKey = None,
    token: Token = None,
) -> None:
    """Register a pattern, send two edges that match it, wait for the match, and delete the pattern; status 1 if none comes."""
    name = f"round_trip_{secrets.token_hex(8)}"
    counted = time_unit(unit)
    begun = time.monotonic()
    deadline = begun + timeout
    with (
        Client(server, api_key=api_key, token=token, edges_url=edges_server, time_unit=counted) as client,
        ProgressBar("waiting for the pattern to run") as bar,
    ):
        _patiently(lambda: client.register(_TEXT.format(name=name, stream=stream)), deadline)
        try:
            _wait_until(lambda: client.get(name).state == "running", deadline, f"{name} runs")
            at = time.time_ns() // counted.nanoseconds
            ends = (f"{name}-a", f"{name}-b")
            edges = [
                {"ts": at, "src": source, "dst": target, "label": name, "id": f"{name}-{number}"}
                for number, (source, target) in enumerate((ends, ends[::-1]))
            ]
            bar.describe("waiting for the match")
            _patiently(lambda: client.send(stream, edges, idempotency_key=name), deadline)
            _wait_until(lambda: bool(client.newest_matches(name, 1)), deadline, f"a match of {name} comes out")
        finally:
            client.delete(name)
    typer.echo(f"{stream}: edges went in and their match came out, {time.monotonic() - begun:.1f} s")


def _wait_until(holds: Callable[[], bool], deadline: float, what: str) -> None:
    while not _patiently(holds, deadline):
        if time.monotonic() > deadline:
            message = f"it takes too long until {what}"
            raise FatalError(message)
        time.sleep(_BETWEEN_LOOKS)


def _patiently(ask: Callable[[], _T], deadline: float) -> _T:
    """Return what a server says, asked again while it cannot serve.

    Raises:
        ServerError: it says no, or still cannot serve when the time is over.
    """
    while True:
        try:
            return ask()
        except UnavailableError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_BETWEEN_LOOKS)
