"""The verb `partial`: partial matches of a pattern on a server."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from graphtide.cli.arguments import MOST, URL, ApiKey, Token, Url
from graphtide.cli.progress import ProgressBar
from graphtide.cli.quiet import is_quiet
from graphtide.cli.server import Name
from graphtide.server import Access, Server

if TYPE_CHECKING:
    from graphtide_wire.bodies.partial_matches import PartView


def partial(
    name: Name,
    *,
    vertex: Annotated[str | None, typer.Option(help="Only those that bind this data vertex.", show_default=False)] = None,
    min_steps: Annotated[
        int | None,
        typer.Option(
            min=1, max=64, help="Query edges that they bind at least: 1, or with --watch all but one.", show_default=False
        ),
    ] = None,
    most: Annotated[int, typer.Option(min=1, max=1_000, help="How many at most.")] = 100,
    watch: Annotated[bool, typer.Option("--watch", help="Continue with those that come close, as they do.")] = False,
    count: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="With --watch: end after so many.", show_default=False)
    ] = None,
    server: Url = URL,
    api_key: ApiKey = None,
    token: Token = None,
) -> None:
    """Write the partial matches of a pattern that are nearest to completion, one JSON object a line.

    Counts by step of the plan go to standard error. Hosts publish both every few seconds.
    """
    with Server(Access(server, api_key, token)) as there:
        if watch:
            _watch(there, name, vertex, min_steps, count)
            return
        page = there.partial_matches(name, vertex, min_steps or 1, most)
    lines = [line for part in page.parts for line in _lines(part)]
    if not is_quiet():
        for line in lines or [f"no host has published partial matches of {name} lately"]:
            typer.echo(line, err=True)
    sys.stdout.writelines(f"{msgspec.json.encode(each).decode()}\n" for each in page.partial_matches)


def _watch(there: Server, name: str, vertex: str | None, min_steps: int | None, count: int | None) -> None:
    with ProgressBar("following", writes=True) as bar:
        bar.update({"partial matches": 0})
        for number, event in enumerate(there.follow_partial_matches(name, vertex, min_steps), start=1):
            sys.stdout.write(f"{event.record}\n")
            sys.stdout.flush()
            bar.update({"partial matches": number})
            if number == count:
                return


def _lines(part: PartView) -> list[str]:
    """Describe what a part of the pattern counted."""
    stored = "" if part.stored else "; the engine stores no partial matches, these are sizes of what it holds"
    truncated = "; there may be nearer ones" if part.truncated else ""
    at = part.at.isoformat(timespec="seconds").replace("+00:00", "Z")
    lines = [f"{part.part} at {at}, position {part.position}{stored}{truncated}"]
    return lines + [
        f"  {step.name}" + (f" ({', '.join(step.edges)})" if step.edges else "") + f": {step.alive:,}" for step in part.steps
    ]
