"""The verbs that talk to a server: apply, get, describe, pause, resume, delete, wait, tail, results."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer
from graphtide_core.errors import FatalError
from graphtide_core.time import TimeUnit, iso_time
from graphtide_query import parse, parse_streams, print_pattern, print_stream
from graphtide_query.families import AUTO, VARIANTS

from graphtide.cli.arguments import (
    MOST,
    URL,
    ApiKey,
    PatternFile,
    TimeUnitOption,
    Token,
    Url,
    engine_name,
    read_statements,
    time_unit,
)
from graphtide.cli.progress import ProgressBar
from graphtide.cli.status import note
from graphtide.server import Access, Json, Server
from graphtide.server_types import Limits, Pattern, Placement

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.stream_definition import StreamDefinition

Name = Annotated[str, typer.Argument(help="Name of a pattern.", show_default=False)]
Names = Annotated[list[str], typer.Argument(help="Names of patterns.", show_default=False)]

_BETWEEN_LOOKS = 0.2
_AT_LIMIT = {"fail": "fails", "pause": "is paused", "shed": "sheds matches"}


def apply(
    pattern_file: PatternFile,
    *,
    engine: Annotated[
        str | None, typer.Option(help=f"{AUTO} or {', '.join(VARIANTS)}; as it is, or {AUTO}.", show_default=False)
    ] = None,
    server: Url = URL,
    api_key: ApiKey = None,
    token: Token = None,
) -> None:
    """Register the STREAM statements and patterns of a file, or update registered ones to match it.

    Statements come first. Another statement or pattern is a new version; the same one written another way changes nothing.
    """
    streams, patterns = read_statements(pattern_file)
    # A text by itself is registered as it was written, with its comments.
    alone = pattern_file.read_text("utf-8") if len(streams) + len(patterns) == 1 else None
    more: dict[str, Json] = {"engine": engine_name(engine)} if engine is not None else {}
    with Server(Access(server, api_key, token)) as there:
        for definition in streams:
            # What is in a file that it names is not in the text.
            is_whole = alone is not None and parse_streams(alone) == (definition,)
            _apply_statement(there, definition, alone if alone is not None and is_whole else print_stream(definition))
        for pattern in patterns:
            _apply_pattern(there, pattern, alone or print_pattern(pattern), more)


def _apply_statement(there: Server, definition: StreamDefinition, text: str) -> None:
    seen = there.stream(definition.name)
    statement = None if seen is None else seen.statement
    is_same = statement is not None and parse_streams(statement.text) == (definition,)
    now = seen if seen is not None and is_same else there.put_stream(definition.name, text)
    done = "unchanged" if is_same else "registered" if statement is None else "changed"
    typer.echo(f"stream {definition.name}: {done}" + ("" if now.statement is None else f", version {now.statement.version}"))
    for warning in now.warnings:
        typer.echo(f"stream {definition.name}: {warning}", err=True)


def _apply_pattern(there: Server, pattern: AnyPattern, text: str, more: dict[str, Json]) -> None:
    seen = there.pattern(pattern.name)
    is_same = seen is not None and [print_pattern(each) for each in parse(seen.text)] == [print_pattern(pattern)]
    body: dict[str, Json] = more if is_same else {"text": text, **more}
    now = there.register(body) if seen is None else there.change(seen, body)
    done = "registered" if seen is None else "unchanged" if seen.etag == now.etag else "changed"
    typer.echo(f"{now.name}: {done}, version {now.version}, {now.state}")
    for warning in now.warnings:
        typer.echo(f"{now.name}: {warning}", err=True)


def get(
    names: Annotated[list[str] | None, typer.Argument(help="Names of patterns; all by default.", show_default=False)] = None,
    *,
    server: Url = URL,
    api_key: ApiKey = None,
    token: Token = None,
) -> None:
    """List patterns and their status."""
    with Server(Access(server, api_key, token)) as there:
        patterns = [_there(there, name) for name in names] if names else there.patterns()
    _write_table(patterns)


def describe(
    name: Name, *, unit: TimeUnitOption = "ms", server: Url = URL, api_key: ApiKey = None, token: Token = None
) -> None:
    """Show a pattern in full: its text, status, host and plan."""
    counts = time_unit(unit)
    with Server(Access(server, api_key, token)) as there:
        pattern = _there(there, name)
        plan = there.plan(name)
        known = there.stream(pattern.stream)
        stream = known.standing if known is not None else None
    facts = {
        "pattern": pattern.name,
        "version": str(pattern.version),
        "stream": pattern.stream,
        "state": pattern.state if pattern.reason is None else f"{pattern.state}: {pattern.reason}",
        "wanted": f"{pattern.wanted}, engine {pattern.engine}",
        "limits": _limits(pattern.limits),
        "changed": pattern.updated_at.isoformat().replace("+00:00", "Z"),
    }
    if pattern.parts:
        facts["parts"] = f"{len(pattern.parts)}, each matches by itself"
        facts |= {f"part {each.part}": f"{each.state}, {_runs_on(each.placement)}" for each in pattern.parts}
    elif pattern.placement is not None:
        facts["runs on"] = _runs_on(pattern.placement)
    if pattern.figures is not None:
        facts["matches"] = f"{pattern.figures.matches:,}"
        facts["partial matches"] = f"{pattern.figures.partial_matches:,} in {pattern.figures.state_bytes:,} bytes"
        if pattern.figures.work is not None:
            facts["work"] = f"{pattern.figures.work:,} steps"
    if stream is not None:
        facts["edges"] = f"{stream.read:,} read, {stream.late:,} late, {stream.future:,} too far ahead, in epoch {stream.epoch}"
        facts["times"] = f"newest {_time(stream.newest, counts)}, watermark {_time(stream.watermark, counts)}"
        if stream.note is not None:
            facts["note"] = stream.note
    if pattern.warnings:
        facts["warning"] = "; ".join(pattern.warnings)
    width = max(len(fact) for fact in facts)
    typer.echo("\n".join(f"{fact + ':':<{width + 1}} {value}" for fact, value in facts.items()))
    typer.echo(f"\n{pattern.text.strip()}")
    if plan is not None:
        typer.echo(f"\n{plan.strip()}")


def pause(names: Names, *, server: Url = URL, api_key: ApiKey = None, token: Token = None) -> None:
    """Pause patterns; matches that complete meanwhile are never reported."""
    _act(names, "pause", Access(server, api_key, token))


def resume(names: Names, *, server: Url = URL, api_key: ApiKey = None, token: Token = None) -> None:
    """Resume patterns from now on; one that a limit ended continues as its next version."""
    _act(names, "resume", Access(server, api_key, token))


def delete(
    names: Names,
    *,
    force: Annotated[bool, typer.Option("--force", help="Delete views that patterns read; these patterns fail then.")] = False,
    server: Url = URL,
    api_key: ApiKey = None,
    token: Token = None,
) -> None:
    """Delete patterns."""
    with Server(Access(server, api_key, token)) as there:
        for name in names:
            there.delete(name, force=force)
            typer.echo(f"{name}: deleted")


def wait(
    names: Names,
    *,
    state: Annotated[str, typer.Option("--for", help="State to wait for.")] = "running",
    timeout: Annotated[float, typer.Option(min=0, help="Seconds to wait at most.")] = 60.0,
    server: Url = URL,
    api_key: ApiKey = None,
    token: Token = None,
) -> None:
    """Wait until patterns are in a state; status 1 if one fails, or takes too long."""
    deadline = time.monotonic() + timeout
    with Server(Access(server, api_key, token)) as there, ProgressBar(f"waiting for {names[0]}") as bar:
        for name in names:
            bar.describe(f"waiting for {name}")
            while (pattern := _there(there, name)).state != state:
                bar.describe(f"{name} is {pattern.state}")
                if pattern.state == "failed":
                    message = f"{name} failed: {pattern.reason}"
                    raise FatalError(message)
                if time.monotonic() > deadline:
                    message = f"{name} is {pattern.state} after {timeout:g} seconds, not {state}"
                    raise FatalError(message)
                time.sleep(_BETWEEN_LOOKS)
            typer.echo(f"{name}: {state}")


def tail(
    name: Name,
    *,
    after: Annotated[str | None, typer.Option(help="Place to continue after, as of --places.", show_default=False)] = None,
    last: Annotated[int, typer.Option(min=0, max=1_000, help="Without --after: matches reported before that come first.")] = 10,
    places: Annotated[bool, typer.Option("--places", help="Write the place of each match before it.")] = False,
    count: Annotated[int | None, typer.Option(min=1, max=MOST, help="End after so many.", show_default=False)] = None,
    server: Url = URL,
    api_key: ApiKey = None,
    token: Token = None,
) -> None:
    """Write the last matches of a pattern, and then new ones as they are reported, one JSON object a line."""
    with Server(Access(server, api_key, token)) as there, ProgressBar("following", writes=True) as bar:
        bar.update({"matches": 0})
        for number, event in enumerate(there.follow(name, after, last), start=1):
            sys.stdout.write(f"{event.place} {event.record}\n" if places else f"{event.record}\n")
            sys.stdout.flush()
            bar.update({"matches": number})
            if number == count:
                return


def results(
    name: Name,
    *,
    at: Annotated[
        str | None,
        typer.Option(help="The time: ticks, or a date. By default now, as far as the query has read.", show_default=False),
    ] = None,
    version: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="A version; by default that which is registered.", show_default=False)
    ] = None,
    server: Url = URL,
    api_key: ApiKey = None,
    token: Token = None,
) -> None:
    """Write the results of a streaming graph query that are valid at a time, one JSON object a line.

    Why they may not be all, or may change, goes to standard error.
    """
    with Server(Access(server, api_key, token)) as there, ProgressBar("reading", writes=True) as bar:
        notes: dict[str, None] = {}
        count = 0
        for page in there.results(name, at, version):
            sys.stdout.writelines(f"{bytes(each).decode()}\n" for each in page.results)
            bar.update({"results": (count := count + len(page.results))})
            notes |= dict.fromkeys(page.notes)
    for text in notes:
        note(text)


def _runs_on(placement: Placement | None) -> str:
    """Return which shard runs a plan."""
    return "without a plan" if placement is None else f"{placement.service}, shard {placement.shard} (epoch {placement.epoch})"


def _limits(limits: Limits) -> str:
    bounds = {"partial matches": limits.partial_matches, "bytes of state": limits.state_bytes, "steps a record": limits.work}
    said = ", ".join(f"{bound:,} {what}" for what, bound in bounds.items() if bound is not None)
    return f"{said}; then it {_AT_LIMIT.get(limits.policy, limits.policy)}"


def _time(ts: int | None, unit: TimeUnit) -> str:
    """Return a time as the stream counts it, and as a time, if it is one that has a date."""
    if ts is None:
        return "none"
    shown = iso_time(ts, unit)
    return f"{ts} ({shown})" if shown != str(ts) else shown


def _act(names: Iterable[str], action: str, access: Access) -> None:
    with Server(access) as there:
        for name in names:
            typer.echo(f"{name}: {there.act(name, action).state}")


def _there(server: Server, name: str) -> Pattern:
    found = server.pattern(name)
    if found is None:
        message = f"the server has no pattern {name!r}"
        raise FatalError(message)
    return found


def _write_table(patterns: Iterable[Pattern]) -> None:
    # Only this verb shows a table.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("name", "version", "state", "engine", "stream", "matches", "partial"):
        right = column in {"version", "matches", "partial"}
        table.add_column(column, justify="right" if right else "left", no_wrap=column == "name")
    for each in patterns:
        counts = ("", "") if each.figures is None else (f"{each.figures.matches:,}", f"{each.figures.partial_matches:,}")
        engine = each.placement.engine if each.placement is not None else each.engine
        table.add_row(each.name, str(each.version), each.state, engine, each.stream, *counts)
    Console(soft_wrap=True).print(table)
