"""`graphtide validate`: is a pattern file valid, and for a stream?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from graphtide_core.errors import InvalidPatternError
from graphtide_query import print_pattern

from graphtide.cli.arguments import PatternFile, read_patterns, with_source
from graphtide.cli.status import say

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from graphtide_core.pattern import SubgraphPattern


def validate(
    pattern_file: PatternFile,
    *,
    stream: Annotated[
        str | None, typer.Option(help="Check too that this stream has the attributes that the patterns read.")
    ] = None,
    show: Annotated[bool, typer.Option("--print", help="Print the patterns in canonical form.")] = False,
) -> None:
    """Check a pattern file; status 2 and the place of the first error if it is invalid."""
    patterns = read_patterns(pattern_file)
    if stream is not None:
        _check(patterns, pattern_file, stream)
    if show:
        typer.echo("\n".join(print_pattern(pattern) for pattern in patterns))
        return
    names = ", ".join(pattern.name for pattern in patterns)
    typer.echo(f"{pattern_file}: {len(patterns)} valid pattern{'s' if len(patterns) != 1 else ''}: {names}")


def _check(patterns: Sequence[SubgraphPattern], pattern_file: Path, stream: str) -> None:
    """Refuse patterns that read an attribute that the stream does not have."""
    # Without a stream nothing of this is needed.
    from graphtide_query.known_attributes import refuse_unknown_attributes  # noqa: PLC0415

    from graphtide.options import MatchOptions  # noqa: PLC0415
    from graphtide.pipeline import Pipeline  # noqa: PLC0415
    from graphtide.put_aside import PutAside  # noqa: PLC0415
    from graphtide.readers import ReaderOptions, open_stream  # noqa: PLC0415
    from graphtide.run import tuned  # noqa: PLC0415

    options = MatchOptions()
    reader = open_stream(stream, tuned(ReaderOptions(), Pipeline(patterns, options), options))
    next(iter(reader.batches()), None)
    known = reader.columns
    reader.close()
    put_aside = PutAside()
    put_aside.add(reader.take_dead_letters())
    for text in put_aside.told(reader.records, reader.place, "these are the stream's first records"):
        say(text)
    try:
        if known is not None:
            refuse_unknown_attributes(patterns, known)
    except InvalidPatternError as error:
        raise with_source(error, pattern_file) from error
