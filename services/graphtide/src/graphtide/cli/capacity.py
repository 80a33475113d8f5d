"""`graphtide capacity`: what a deployment needs for a load, as a table or as JSON."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer
from graphtide_core.time import TimeUnit

from graphtide.capacity import GIB, MIB, PATTERN_NANOSECONDS, Load, estimate
from graphtide.cli.arguments import MOST, choice, duration

if TYPE_CHECKING:
    from graphtide.capacity import Estimate

_WIDTH: Final = 100
_DIGITS_FROM: Final = 10


def capacity(
    *,
    edges_per_second: Annotated[
        float, typer.Option(min=0.001, help="Edges a second, of all streams together.", show_default=False)
    ],
    patterns: Annotated[int, typer.Option(min=0, max=MOST, help="Patterns that are registered.", show_default=False)],
    streams: Annotated[int, typer.Option(min=1, max=MOST, help="Streams that the edges are of, in equal parts.")] = 1,
    window: Annotated[str, typer.Option(help="Length of the patterns' windows, in time that passes.")] = "10m",
    wanted: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of the edges that some pattern could use.")] = 1.0,
    retention: Annotated[str, typer.Option(help="How long raw and ordered edges are kept.")] = "1d",
    edge_bytes: Annotated[int, typer.Option(min=1, max=MOST, help="Bytes of an edge as it comes.")] = 106,
    replication: Annotated[int, typer.Option(min=1, max=100, help="Replicas of Kafka's topics.")] = 3,
    use: Annotated[float, typer.Option(min=0.01, max=1.0, help="Share of a core that is planned with.")] = 0.5,
    pattern_nanoseconds: Annotated[
        float, typer.Option(min=0.0, help="What a pattern costs for each edge of its stream; `explain` estimates it.")
    ] = PATTERN_NANOSECONDS,
    format: Annotated[str, typer.Option(help="table or json.")] = "table",
) -> None:
    """Say what a deployment needs for a load: partitions, cores, memory, Redis and disk of Kafka.

    By measured costs of one kind of machine; docs/how-to/capacity.md has the formulas and what they leave out.
    """
    form = choice(format, {name: name for name in ("table", "json")}, "--format")
    load = Load(
        edges_per_second=edges_per_second,
        patterns=patterns,
        streams=streams,
        window_seconds=_seconds(window, "--window"),
        wanted=wanted,
        retention_seconds=_seconds(retention, "--retention"),
        edge_bytes=edge_bytes,
        replication=replication,
        use=use,
        pattern_nanoseconds=pattern_nanoseconds,
    )
    found = estimate(load)
    if form == "json":
        sys.stdout.write(json.dumps({"load": asdict(load), **asdict(found)}, indent=2) + "\n")
    else:
        sys.stdout.write(_table(found))


def _seconds(text: str, option: str) -> float:
    length = duration(text, option)
    if length.unit is None:
        message = f"{text!r} has no unit; for example 10m"
        raise typer.BadParameter(message, param_hint=option)
    return length.ticks_at_least(TimeUnit.MILLISECOND) / 1000


def _table(found: Estimate) -> str:
    from rich.console import Console  # noqa: PLC0415 - JSON and help do without tables
    from rich.table import Table  # noqa: PLC0415 - as above

    table = Table()
    table.add_column("component")
    for name in ("instances", "cores", "memory", "disk"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found.components:
        table.add_row(each.name, str(each.instances), _cores(each.cores), _size(each.memory_bytes), _size(each.disk_bytes))
    total = [sum(getattr(each, name) for each in found.components) for name in ("cores", "memory_bytes", "disk_bytes")]
    table.add_section()
    table.add_row("all", "", _cores(total[0]), _size(total[1]), _size(total[2]))
    file = io.StringIO()
    Console(file=file, width=_WIDTH).print(table)
    lines = [f"partitions of each raw topic: {found.partitions}", *(f"warning: {each}" for each in found.warnings)]
    return file.getvalue() + "\n".join(lines) + "\n"


def _cores(cores: float) -> str:
    return f"{cores:.2f}" if cores else ""


def _size(size: float) -> str:
    if not size:
        return ""
    amount, unit = (size / GIB, "GiB") if size >= GIB else (size / MIB, "MiB")
    return f"{amount:,.0f} {unit}" if amount >= _DIGITS_FROM else f"{amount:.1f} {unit}"
