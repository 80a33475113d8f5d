"""`graphtide generate`: seeded streams with planted instances and a ground truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from graphtide_core.errors import FatalError
from graphtide_core.formats import FORMATS, columnar_suffixes, one_of
from graphtide_generate import EVENTS, GENERATORS, NATURAL
from graphtide_generate.event_stream import GeneratedEvents
from graphtide_generate.stream import Recipe
from graphtide_generate.writer import write_events, write_ground_truth, write_patterns, write_stream

from graphtide.cli.arguments import MOST_AT_ONCE, choice, refuse_shared_files
from graphtide.cli.output import refuse_unwritable
from graphtide.cli.progress import ProgressBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_generate.stream import GeneratedStream

_TEXTS = [each.suffixes[0] for each in FORMATS.values() if each.is_text and each.generated is not None]
_SUFFIXES = f"{', '.join(_TEXTS)} (also .gz), {one_of(columnar_suffixes())}"
_KINDS: dict[str, Callable[[Recipe], GeneratedStream | GeneratedEvents]] = {**GENERATORS, **EVENTS, **NATURAL}


def generate(
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(_KINDS)}.", show_default=False)],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help=f"Stream: {_SUFFIXES}.")],
    ground_truth: Annotated[Path | None, typer.Option(help="What was planted, as JSON.")] = None,
    pattern: Annotated[Path | None, typer.Option(help="The pattern that finds it.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 1,
    records: Annotated[int, typer.Option(min=1, max=MOST_AT_ONCE, help="Records of background.")] = 10_000,
    planted: Annotated[int | None, typer.Option(min=0, max=MOST_AT_ONCE, help="Instances to plant; 5 if not given.")] = None,
    decoys: Annotated[int | None, typer.Option(min=0, max=MOST_AT_ONCE, help="Near misses to plant; 10 if not given.")] = None,
    swap_labels: Annotated[
        bool, typer.Option("--swap-labels", help="From the middle on the frequencies of labels are reversed.")
    ] = False,
) -> None:
    """Write a seeded stream with planted instances of a pattern, near misses, and what was planted.

    Streams of deposits and logins are of events, the others of edges. Nothing is planted in calls, citations, retweets and
    roads: their patterns find what the nature of the stream brings.
    """
    refuse_shared_files({}, {"--output": output, "--ground-truth": ground_truth, "--pattern": pattern})
    refuse_unwritable([output, ground_truth, pattern])
    make = choice(kind, _KINDS, "KIND")
    if ground_truth is not None and kind in NATURAL:
        message = f"nothing is planted in {kind}: it has no ground truth"
        raise typer.BadParameter(message, param_hint="--ground-truth")
    try:
        usual = Recipe.of_nature(seed, records) if kind in NATURAL else Recipe(seed, records)
        plants = usual.planted if planted is None else planted
        flawed = usual.decoys if decoys is None else decoys
        with ProgressBar(f"generating {records:,} records") as bar:
            stream = make(replace(usual, planted=plants, decoys=flawed, swap_labels=swap_labels))
            bar.describe(f"writing {output}")
            count = _write(stream, output)
            if ground_truth is not None:
                write_ground_truth(ground_truth, stream)
            if pattern is not None:
                write_patterns(pattern, stream)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    except OSError as error:
        message = f"{error.filename} cannot be written: {error.strerror}"
        raise FatalError(message) from error
    typer.echo(f"{output}: {count:,} records, {len(stream.planted)} planted, {len(stream.decoys)} near misses")


def _write(stream: GeneratedStream | GeneratedEvents, output: Path) -> int:
    """Write a stream, and return of how many records it is."""
    if isinstance(stream, GeneratedEvents):
        write_events(output, stream.events)
        return len(stream.events)
    write_stream(output, stream.edges)
    return len(stream.edges)
