"""The Python interface: patterns over anything that gives records, in one process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from graphtide_core.pattern import SubgraphPattern
from graphtide_query import parse

from graphtide.options import MatchOptions
from graphtide.pipeline import Pipeline, Replan
from graphtide.put_aside import PutAside, unfit_told, warn
from graphtide.readers import ReaderOptions, open_stream
from graphtide.run import tuned

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from graphtide_core.edge import Edge
    from graphtide_core.match import SubgraphMatch
    from graphtide_core.ports.dead_letter_sink import DeadLetter

    from graphtide.readers import Reader, Unfit

Patterns = str | SubgraphPattern | list[SubgraphPattern] | tuple[SubgraphPattern, ...]
"""One pattern or several, as text or parsed."""

Records = object
"""A path, `-`, a table of pyarrow, pandas or polars, or an iterable of `Edge` or dictionaries."""

MOST_LETTERS = 100_000
"""Records put aside that are kept until they are taken; of more, nothing but their number is."""


def match(pattern: Patterns, edges: Records, options: MatchOptions | None = None) -> Matches:
    """Find the matches of the pattern in a stream; iterating gives them as their last edges arrive.

    Records that are bad or late are put aside, with a `StreamWarning` that names the first; `take_dead_letters` of what is
    returned gives them. A table is put in order of time first, so none of its records is late.

    Args:
        pattern: text of one or several patterns, or parsed patterns.
        edges: a path, a pyarrow, pandas or polars table, or an iterable of `Edge` or of dictionaries with the keys
            `ts src dst label` and, if there are, `src_label dst_label id op` and attributes. There a `ts` is an integer, or a
            datetime or ISO text (`2024-01-31T12:00:00.250Z`) that is a whole number of ticks of `options.time_unit`; one
            without a zone is UTC.
        options: see `MatchOptions`.

    Raises:
        InvalidPatternError: the text is wrong; or, while iterating, it reads an attribute that the stream does not have.
        UnreadableStreamError: while iterating, the stream cannot be read.
        LimitExceededError: while iterating, a pattern reached a bound under the policy `fail`.
    """
    return Matches(Session(pattern, options), edges)


class Matches(Iterator["SubgraphMatch"]):
    """The matches of one stream, which is read as they are asked for; see `match`."""

    def __init__(self, session: Session, records: Records) -> None:
        """Prepare; nothing is read yet."""
        self._session = session
        self._found = session.run(records)

    def __next__(self) -> SubgraphMatch:
        """Return the next match. Raises as `match`."""
        return next(self._found)

    def take_dead_letters(self) -> list[DeadLetter]:
        """Return the records put aside since the last call; see `Session.take_dead_letters`."""
        return self._session.take_dead_letters()

    def close(self) -> None:
        """Let go of the stream; done by itself at its end."""
        self._found.close()


class Session:
    """Patterns over a stream that comes piece by piece.

    Use `push` and, at the end, `finish`; or `run` for a whole stream. Records of all pieces are one stream in order of time;
    what comes later than `options.lateness` allows is put aside. `finish` warns of what was put aside and not taken; where all
    that came so far was, `push` does.
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
        self._put_aside = PutAside()
        self._warned_of = 0
        self._unfit: dict[tuple[str, str], Unfit] = {}
        self._records = 0

    def push(self, records: Iterable[Edge | Mapping[str, object]] | Records) -> list[SubgraphMatch]:
        """Take records; return the matches they complete. Raises as `match`."""
        return list(self._take(records))

    def finish(self) -> list[SubgraphMatch]:
        """Take the end of the stream; return the matches of records that were held back. Raises as `match`."""
        reader = self._reader or self._open(())
        matches = [found for batch in self._pipeline.finish(reader) for found in batch]
        self._collect(reader)
        self._warn(reader)
        return matches

    def run(self, records: Records) -> Generator[SubgraphMatch, None, None]:
        """Take a whole stream and its end; yield the matches. Raises as `match`."""
        yield from self._take(records, live=True)
        yield from self.finish()

    @property
    def replans(self) -> list[Replan]:
        """Plans that changed while the stream ran."""
        return self._pipeline.replans

    def take_dead_letters(self) -> list[DeadLetter]:
        """Return the records put aside since the last call: bad ones and late ones, the first `MOST_LETTERS` of them."""
        if self._reader is not None:
            self._collect(self._reader)
        letters, self._dead_letters = self._dead_letters, []
        self._put_aside, self._warned_of = PutAside(), 0
        return letters

    def _take(self, records: Records, *, live: bool = False) -> Iterator[SubgraphMatch]:
        reader = self._reader = self._open(records, live=live)
        for batch in reader.batches():
            for found in self._pipeline.push(batch, reader):
                yield from found
            self._collect(reader)
            if self._put_aside.is_all(self._records):
                # Whoever waits for the first match of a stream without end should not wait for this too.
                self._warn(reader)
        self._collect(reader)
        for unfit in reader.unfit:
            known = self._unfit.get((unfit.name, unfit.found))
            # Each piece counts anew.
            self._unfit[unfit.name, unfit.found] = (
                unfit if known is None else known._replace(records=known.records + unfit.records)
            )

    def _collect(self, reader: Reader) -> None:
        """Take what was put aside by now."""
        letters = [*reader.take_dead_letters(), *self._pipeline.take_dead_letters()]
        self._put_aside.add(letters)
        self._dead_letters += letters[: MOST_LETTERS - len(self._dead_letters)]
        self._records = reader.records

    def _warn(self, reader: Reader) -> None:
        """Warn of what could not be used, unless it was said before or the letters were taken."""
        kept = len(self._dead_letters)
        how = f"take_dead_letters() gives {'them' if kept == self._put_aside.count else f'the first {kept:,} of them'}"
        told = self._put_aside.told(self._records, reader.place, how) if self._put_aside.count > self._warned_of else []
        self._warned_of = self._put_aside.count
        unfit, self._unfit = self._unfit, {}
        for text in (*told, *unfit_told(unfit.values(), reader.place)):
            warn(text)

    def _open(self, records: Records, *, live: bool = False) -> Reader:
        reader = opened(records, tuned(ReaderOptions(live=live), self._pipeline, self._options))
        # All pieces are one stream: ordinals, which are ids where a record gives none, go on.
        reader.start_at(self._records)
        return reader


def opened(records: Records, options: ReaderOptions) -> Reader:
    """Open a path, a table or an iterable of records."""
    if isinstance(records, str | os.PathLike):
        return open_stream(Path(records) if records != "-" else "-", options)
    from graphtide.readers.memory import from_edges, from_table  # noqa: PLC0415 - files of text do without pyarrow

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
