"""The Python interface: patterns over anything that gives records, in one process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from graphtide_core.pattern import SubgraphPattern
from graphtide_query import parse

from graphtide.options import MatchOptions
from graphtide.pipeline import Pipeline, Replan
from graphtide.readers import ReaderOptions, from_edges, from_table, open_stream
from graphtide.run import tuned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from graphtide_core.edge import Edge
    from graphtide_core.match import SubgraphMatch
    from graphtide_core.ports.dead_letter_sink import DeadLetter

    from graphtide.readers import Reader

Patterns = str | SubgraphPattern | list[SubgraphPattern] | tuple[SubgraphPattern, ...]
"""One pattern or several, as text or parsed."""

Records = object
"""A path, `-`, a table of pyarrow, pandas or polars, or an iterable of `Edge` or dictionaries."""


def match(pattern: Patterns, edges: Records, options: MatchOptions | None = None) -> Iterator[SubgraphMatch]:
    """Yield the matches of the pattern in a stream, as their last edges arrive.

    Args:
        pattern: text of one or several patterns, or parsed patterns.
        edges: a path, a pyarrow, pandas or polars table, or an iterable of `Edge` or of dictionaries with the keys
            `ts src dst label` and, if there are, `src_label dst_label id op` and attributes.
        options: see `MatchOptions`.

    Raises:
        InvalidPatternError: the text is wrong, or reads an attribute that the stream does not have.
        UnreadableStreamError: the stream cannot be read.
        LimitExceededError: a pattern reached a bound under the policy `fail`.
    """
    session = Session(pattern, options)
    yield from session.run(edges)


class Session:
    """Patterns over a stream that comes piece by piece.

    Use `push` and, at the end, `finish`; or `run` for a whole stream. Records of all pieces are one stream in order of time;
    what comes later than `options.lateness` allows is put aside.
    """

    def __init__(self, pattern: Patterns, options: MatchOptions | None = None) -> None:
        """Parse the patterns.

        Raises:
            InvalidPatternError: the text is wrong.
        """
        self.patterns = parsed(pattern)
        self._options = options or MatchOptions()
        self._pipeline = Pipeline(self.patterns, self._options)
        self._reader: Reader | None = None
        self._dead_letters: list[DeadLetter] = []
        self._records = 0

    def push(self, records: Iterable[Edge | Mapping[str, object]] | Records) -> list[SubgraphMatch]:
        """Take records; return the matches they complete. Raises as `match`."""
        return list(self._take(records))

    def finish(self) -> list[SubgraphMatch]:
        """Take the end of the stream; return the matches of records that were held back. Raises as `match`."""
        reader = self._reader or self._open(())
        return [found for batch in self._pipeline.finish(reader) for found in batch]

    def run(self, records: Records) -> Iterator[SubgraphMatch]:
        """Take a whole stream and its end; yield the matches. Raises as `match`."""
        yield from self._take(records)
        yield from self.finish()

    @property
    def replans(self) -> list[Replan]:
        """Plans that changed while the stream ran."""
        return self._pipeline.replans

    def take_dead_letters(self) -> list[DeadLetter]:
        """Return the records put aside since the last call: bad ones and late ones."""
        letters = [*self._dead_letters, *self._pipeline.take_dead_letters()]
        self._dead_letters = []
        return letters

    def _take(self, records: Records) -> Iterator[SubgraphMatch]:
        reader = self._reader = self._open(records)
        for batch in reader.batches():
            for found in self._pipeline.push(batch, reader):
                yield from found
            self._dead_letters += reader.take_dead_letters()
            self._records = reader.records
        self._dead_letters += reader.take_dead_letters()
        self._records = reader.records

    def _open(self, records: Records) -> Reader:
        reader = opened(records, tuned(ReaderOptions(), self._pipeline, self._options))
        # All pieces are one stream: ordinals, which are ids where a record gives none, go on.
        reader.start_at(self._records)
        return reader


def opened(records: Records, options: ReaderOptions) -> Reader:
    """Open a path, a table or an iterable of records."""
    if isinstance(records, str | os.PathLike):
        return open_stream(Path(records) if records != "-" else "-", options)
    if hasattr(records, "__arrow_c_stream__") or type(records).__module__.startswith(("pandas", "polars", "pyarrow")):
        return from_table(records, options)
    if hasattr(records, "__iter__"):
        return from_edges(records, options)
    message = f"a {type(records).__name__} is no stream of records"
    raise TypeError(message)


def parsed(pattern: Patterns) -> tuple[SubgraphPattern, ...]:
    """Return the patterns, parsed if they are text.

    Raises:
        InvalidPatternError: the text is wrong.
    """
    match pattern:
        case str():
            return parse(pattern)
        case SubgraphPattern():
            return (pattern,)
        case _:
            return tuple(pattern)
