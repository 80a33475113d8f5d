"""`graphtide demo`: the main job on a generated day of network flows, checked against what was planted."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from graphtide_generate import GENERATORS
from graphtide_generate.stream import Recipe
from graphtide_generate.writer import write_ground_truth, write_patterns, write_stream
from graphtide_native.allocator import keep_pages
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from graphtide.cli.arguments import MOST_AT_ONCE, read_subgraphs
from graphtide.cli.output import MatchFile
from graphtide.cli.progress import ProgressBar
from graphtide.cli.status import FAILED
from graphtide.options import MatchOptions
from graphtide.readers import ReaderOptions
from graphtide.run import prepare
from graphtide.wording import tally

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide.summary import Summary

Identity = tuple[tuple[str, str], ...]


class SubgraphRecord(msgspec.Struct, frozen=True):
    """What the demo reads of a match record."""

    detected_at: int
    first_ts: int
    last_ts: int
    edges: dict[str, str]
    vertices: dict[str, str]


def demo(
    folder: Annotated[Path, typer.Option(help="Where stream, pattern, ground truth and matches are left.")] = Path("demo"),
    *,
    records: Annotated[int, typer.Option(min=1_000, max=MOST_AT_ONCE, help="Flows of background in the day.")] = 300_000,
    planted: Annotated[int, typer.Option(min=1, max=MOST_AT_ONCE, help="Exfiltrations to plant.")] = 12,
    seed: Annotated[int, typer.Option(help="The same seed gives the same day.")] = 1,
) -> None:
    """Generate a day of network flows with planted exfiltrations and near misses, find them, and check what was found."""
    console = Console()
    folder.mkdir(parents=True, exist_ok=True)
    stream_file, pattern_file = folder / "flows.csv", folder / "exfiltration.gtp"
    truth_file, match_file = folder / "ground_truth.json", folder / "matches.jsonl"
    with ProgressBar(f"generating {records:,} flows"):
        stream = GENERATORS["network"](Recipe(seed=seed, records=records, planted=planted, decoys=2 * planted))
        write_stream(stream_file, stream.edges)
        write_patterns(pattern_file, stream)
        write_ground_truth(truth_file, stream)
    console.print(f"a day of {len(stream.edges):,} flows: {stream_file}", highlight=False)
    console.print(Text(f"\n{stream.patterns.strip()}\n", style="dim"))
    keep_pages()
    with MatchFile(match_file) as sink, ProgressBar("matching") as bar:
        run = prepare(
            read_subgraphs(pattern_file), str(stream_file), MatchOptions(), reading=ReaderOptions(keep_raw=False), matches=sink
        )
        run.on_progress = lambda: bar.update_from(run.reader, matches=run.found)
        summary = run.execute()
    if run.interrupt is not None:
        run.interrupt.add_note(tally({"records": summary.records, "matches": summary.matches}))
        raise run.interrupt
    found = msgspec.json.Decoder(SubgraphRecord).decode_lines(match_file.read_bytes())
    console.print(_table(found))
    _verdict(
        console,
        summary,
        Counter(_identity(match.edges) for match in found),
        Counter(_identity(p.edges) for p in stream.planted),
    )


def _identity(edges: Mapping[str, str]) -> Identity:
    return tuple(sorted(edges.items()))


def _table(found: list[SubgraphRecord]) -> Table:
    table = Table(title="exfiltrations found", box=box.SIMPLE)
    for column in ("UTC", "took", *(found[0].vertices if found else ()), "last flow"):
        table.add_column(column, no_wrap=True)
    for match in found:
        detected = datetime.fromtimestamp(match.detected_at / 1000, UTC)
        took = (match.last_ts - match.first_ts) / 1000
        last = list(match.edges.values())[-1]
        table.add_row(f"{detected:%H:%M:%S}", f"{took:.0f} s", *match.vertices.values(), last)
    return table


def _verdict(console: Console, summary: Summary, found: Counter[Identity], planted: Counter[Identity]) -> None:
    missed, surplus = planted - found, found - planted
    rate = summary.records_per_second
    console.print(f"{summary.records:,} flows in {summary.seconds:.2f} s, reading included: {rate:,.0f} flows/s")
    if missed or surplus:
        console.print(f"[red]{missed.total()} planted attacks missed, {surplus.total()} matches that were not planted[/]")
        raise typer.Exit(FAILED)
    console.print(f"[green]all {planted.total()} planted attacks found, and nothing else[/]")
    command = "graphtide" if shutil.which("graphtide") else sys.argv[0]
    console.print(
        f"\nSee it in your browser, with the stream flowing:  {command} dev up --demo\nthen open http://127.0.0.1:8080/console/",
        highlight=False,
        soft_wrap=True,
    )
