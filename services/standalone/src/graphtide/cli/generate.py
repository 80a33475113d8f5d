"""`graphtide generate`: seeded streams with planted instances and a ground truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from graphtide_core.errors import FatalError
from graphtide_generate import GENERATORS
from graphtide_generate.stream import Recipe
from graphtide_generate.writer import write_ground_truth, write_patterns, write_stream

from graphtide.cli.arguments import MOST_AT_ONCE, choice, refuse_shared_files
from graphtide.cli.output import refuse_unwritable


def generate(
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(GENERATORS)}.", show_default=False)],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Stream: .csv, .jsonl (also .gz), .parquet or .arrow.")],
    ground_truth: Annotated[Path | None, typer.Option(help="What was planted, as JSON.")] = None,
    pattern: Annotated[Path | None, typer.Option(help="The pattern that finds it.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 1,
    records: Annotated[int, typer.Option(min=1, max=MOST_AT_ONCE, help="Records of background.")] = 10_000,
    planted: Annotated[int, typer.Option(min=0, max=MOST_AT_ONCE, help="Instances to plant.")] = 5,
    decoys: Annotated[int, typer.Option(min=0, max=MOST_AT_ONCE, help="Near misses to plant.")] = 10,
    swap_labels: Annotated[
        bool, typer.Option("--swap-labels", help="From the middle on the frequencies of labels are reversed.")
    ] = False,
) -> None:
    """Write a seeded stream with planted instances of a pattern, near misses, and what was planted."""
    refuse_shared_files({}, {"--output": output, "--ground-truth": ground_truth, "--pattern": pattern})
    refuse_unwritable([output, ground_truth, pattern])
    make = choice(kind, dict(GENERATORS), "KIND")
    try:
        stream = make(Recipe(seed=seed, records=records, planted=planted, decoys=decoys, swap_labels=swap_labels))
        write_stream(output, stream.edges)
        if ground_truth is not None:
            write_ground_truth(ground_truth, stream)
        if pattern is not None:
            write_patterns(pattern, stream)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    except OSError as error:
        message = f"{error.filename} cannot be written: {error.strerror}"
        raise FatalError(message) from error
    typer.echo(f"{output}: {len(stream.edges):,} records, {len(stream.planted)} planted, {len(stream.decoys)} near misses")
