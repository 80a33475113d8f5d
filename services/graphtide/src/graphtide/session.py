"""The Python interface: patterns over anything that gives records, in one process."""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections import Counter
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeGuard

from graphtide_core.any_pattern import AnyPattern
from graphtide_core.edge import Edge
from graphtide_core.errors import InvalidQueryError
from graphtide_core.event_pattern import EventPattern
from graphtide_core.pattern import SubgraphPattern
from graphtide_native.matcher import MOST_PARTIAL_MATCHES
from graphtide_query import parse
from graphtide_query.families import is_pattern
from graphtide_wire.partial_matches import read_view

from graphtide.inputs import IN_PYTHON, Inputs, flaw_of_streams
from graphtide.matches import MatchList, columns_of_patterns, to_arrow
from graphtide.notes import PatternWarning
from graphtide.one_at_a_time import OneAtATime
from graphtide.options import MatchOptions
from graphtide.pipeline import Pipeline, Replan
from graphtide.readers import ReaderOptions, from_edges, from_table, open_stream
from graphtide.readers.ahead import read_ahead
from graphtide.rejections import RejectedRecordsError, Rejections, is_too_much, warn
from graphtide.remedies import by_python
from graphtide.run import describe_changes, describe_fit, describe_losses, describe_names, merge, tune_reader
from graphtide.streaming import Matches
from graphtide.summary import summarize

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import TracebackType

    import pyarrow as pa
    from graphtide_core.match import Match
    from graphtide_core.partial_matches import PartialMatches
    from graphtide_core.ports.dead_letter_sink import DeadLetter
    from graphtide_core.time import TimeUnit
    from graphtide_native.match_batch import MatchBatch

    from graphtide.readers import Reader, Settled, UnusableValues
    from graphtide.summary import Summary

Patterns = str | AnyPattern | list[SubgraphPattern] | list[EventPattern] | list[AnyPattern] | tuple[AnyPattern, ...]
"""One pattern or several, as text or parsed."""

Records = object
"""A path, `-`, a list of paths, a table of pyarrow, pandas or polars, a record, or an iterable of records.

A table is also a dataset of pyarrow, a lazy frame of polars, and any object with an Arrow stream, as relations of duckdb are.
An iterable may be asynchronous, too. Or `Inputs`: several by name.
"""

_STREAMS: Final = (
    "give a path, a table of pyarrow, pandas or polars, a record (an Edge, or a dictionary with the keys ts, src, dst, label), "
    "or an iterable of records"
)

_EARLY_SECONDS: Final = 1.0
_EARLY_RECORDS: Final = 10_000
"""How long a stream may have no usable record before a warning says so ahead of its end: what comes first of both."""

MOST_LETTERS = 100_000
"""Rejected records that are kept until they are taken; those past this number are counted alone."""


def match(pattern: Patterns, edges: Records, options: MatchOptions | None = None) -> Matches:
    """Find the matches of the pattern in a stream; iterating gives them as their last edges arrive.

    Records that are bad or late are rejected; `take_dead_letters` of what is returned gives them. One `StreamWarning` at the
    end says what was lost: records rejected by reason, duplicates dropped, work given up at limits. A table is put in order of
    time first, so none of its records is late. At the end of the stream a `PatternWarning` says what patterns ask that it never
    had: labels, types of events, attributes.

    Args:
        pattern: text of one or several patterns, or parsed patterns.
        edges: a path, which may be a folder or a pattern such as `logs/*.csv`, or a list of paths: many files are merged by
            time. Or a pyarrow, pandas or polars table, a dataset, a lazy frame or another object with `__arrow_c_stream__`. Or
            a record, or an iterable of records, which may be asynchronous. A record is an `Edge` or a dictionary with the keys
            `ts src dst label`, attributes and, if there are, `src_label dst_label id op`. Or, for streaming graph queries,
            `Inputs`: several of these by name. In records a `ts` is an integer, or a datetime or ISO text
                (`2024-01-31T12:00:00.250Z`). It must be a whole number of ticks of `options.time_unit`; without a zone it is
                UTC.
        options: see `MatchOptions`.

    Raises:
        InvalidPatternError: the text is wrong; or, while iterating, it reads an attribute that the stream does not have.
        InvalidQueryError: a query reads several streams and one is given, or others are given by name than queries read.
        UnreadableStreamError: the stream cannot be opened; or, while iterating, it cannot be read on.
        LimitExceededError: while iterating, a pattern reached a bound under the policy `fail`.
        RejectedRecordsError: after the last match, more records were rejected than `options.max_rejected` allows.
        TypeError: the stream is of another type.
    """
    return Session(pattern, options).run(edges)


class Session:
    """Patterns over a stream that comes piece by piece.

    Use `push` and, at the end, `finish`; or `run` for a whole stream. Records of all pieces are one stream in order of time;
    what comes later than `options.lateness` allows is rejected. `finish`, or else `close`, warns of what was lost and of
    rejected records that were not taken. If no record could be used for a while, `push` does.

    A context manager: leaving its block closes the session. It does not `finish` it, because the matches would be lost; a
    `StreamWarning` reports records that were held back then. To be used by one thread at a time: a call while another thread's
    is under way raises RuntimeError and changes nothing.
    """

    def __init__(self, pattern: Patterns, options: MatchOptions | None = None) -> None:
        """Parse the patterns.

        Raises:
            InvalidPatternError: the text is wrong.
            TypeError: it is neither a text nor patterns.
        """
        self.patterns = parse_text(pattern)
        self._options = options or MatchOptions()
        self._pipeline = Pipeline(self.patterns, self._options)
        self._reader: Reader | None = None
        self._dead_letters: list[DeadLetter] = []
        self._rejections, self._before = Rejections(), Rejections()
        self._said: list[str] = []
        self._has_warned_early = False
        self._started: float | None = None
        self._seconds = 0.0
        self._unusable_values: dict[tuple[str, str], UnusableValues] = {}
        self._settled: dict[tuple[str, str, int], Settled] = {}
        self._records = self._filtered = self._filtered_before = 0
        self._alone = OneAtATime("this session")
        self._over = ""
        self._reported: list[tuple[str, type[Warning]]] = []
        self._notify: Callable[[str, type[Warning]], None] = warn

    def __enter__(self) -> Self:
        """Return the session itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """Close, and warn of what was lost; without an error also of records that were held back."""
        held = self._pipeline.held_back if not self._over and value is None else 0
        if held:
            were = "record was" if held == 1 else "records were"
            note = f"{held:,} {were} held back to be put in order, and not matched: call finish() before the session is closed"
            self._pipeline.notes.append(note)
        self.close()

    def push(self, records: Iterable[Edge | Mapping[str, object]] | Records) -> MatchList:
        """Take records, or one; return the matches they complete. Raises as `match`, and ValueError after the end.

        Streams by name are taken as a whole, by `run`: here they raise TypeError.
        """
        with self._alone:
            self._refuse_after_end()
            if isinstance(records, Inputs):
                message = "streams by name are taken as a whole: give them to run() or to match()"
                raise TypeError(message)
            return self._list(self._warned_of(self._take(self._open(records))))

    def finish(self) -> MatchList:
        """Take the end of the stream; return the matches of records that were held back.

        Raises as `push`, and RejectedRecordsError, which has these matches, where more records were rejected than
        `options.max_rejected` allows.
        """
        with self._alone:
            self._refuse_after_end()
            found = self._list(self._warned_of(self._finish()))
            self._refuse_too_many(found)
            return found

    def run(self, records: Records) -> Matches:
        """Take a whole stream and its end; return the matches, to be iterated. Raises as `match`."""
        self._refuse_after_end()
        if isinstance(records, AsyncIterable) and not isinstance(records, Iterable):
            from graphtide.asynchronous import Bridge  # noqa: PLC0415 - without an event loop there is no wait for asyncio

            source = Bridge(records)
            return Matches(self, self._open(source, live=True), source)
        return Matches(self, self._open(records, live=True))

    def close(self) -> None:
        """Take no more records. What was held back is not matched; matches and dead letters that came are there still."""
        with self._alone:
            self._leave()
            self._over = self._over or "closed"

    def summary(self) -> Summary:
        """Return what was done so far, in counts: see `--summary` of the command line.

        `seconds` are those from the first record to the last, with what the caller did in between.
        """
        with self._alone:
            reader = self._reader or self._open(())
            self._collect(reader)
            outcome = "done" if self._over == "finished" else self._over or "open"
            # Plans are made when the first records are there, and not for these counts.
            pipeline = self._pipeline if self._pipeline.is_started else Pipeline(self.patterns, self._options)
            rejections = self._before.joined_with(self._rejections)
            fit = describe_fit(pipeline, self._records) if outcome == "done" else ()
            notes = [*pipeline.notes, *describe_changes(pipeline, self._filtered, self._records), *fit]
            return summarize(
                pipeline,
                reader,
                rejections,
                self._seconds,
                outcome,
                notes=notes,
                unwritten=Counter(),
                filtered=self._filtered,
            )

    def partial_matches(self, name: str | None = None, most: int = MOST_PARTIAL_MATCHES) -> PartialMatches:
        """Return the partial matches of a pattern nearest to completion, and how many there are by step of its plan.

        Args:
            name: the pattern's; not needed if there is one pattern.
            most: partial matches returned.

        Raises:
            LookupError: there is no such pattern, or there are several and none is named.
        """
        with self._alone:
            names = [str(pattern.name) for pattern in self.patterns]
            if name is None and len(names) > 1:
                message = f"there are {len(names)} patterns, name one: {', '.join(names)}"
                raise LookupError(message)
            if name is not None and name not in names:
                message = f"there is no pattern {name!r}, but {', '.join(names)}"
                raise LookupError(message)
            # Plans are made when the first records are there, and not for this.
            pipeline = self._pipeline if self._pipeline.is_started else Pipeline(self.patterns, self._options)
            return read_view(pipeline.matcher.partial_matches(0 if name is None else names.index(name), most))

    def table(self, matches: Iterable[Match]) -> pa.Table:
        """Return matches of this session's patterns as a table of pyarrow; see `graphtide.matches` for its columns."""
        return to_arrow(matches, columns_of_patterns(self.patterns), self._options.time_unit)

    def _table(self, parts: Iterable[tuple[MatchBatch, int]]) -> pa.Table:
        from graphtide.match_columns import MatchRows  # noqa: PLC0415 - a program without tables does not wait for pyarrow

        return MatchRows(self.patterns, self._options.time_unit).table(parts)

    @property
    def time_unit(self) -> TimeUnit:
        """What times of the stream count."""
        return self._options.time_unit

    @property
    def replans(self) -> list[Replan]:
        """Plans that changed while the stream ran."""
        return self._pipeline.replans

    def take_dead_letters(self) -> list[DeadLetter]:
        """Return the records rejected since the last call: bad ones and late ones, the first `MOST_LETTERS` of them."""
        with self._alone:
            if self._reader is not None:
                self._collect(self._reader)
            letters, self._dead_letters = self._dead_letters, []
            self._before, self._rejections = self._before.joined_with(self._rejections), Rejections()
            return letters

    def _run(self, reader: Reader) -> Generator[MatchBatch, None, None]:
        yield from self._warned_of(self._take(reader))
        yield from self._warned_of(self._finish())
        self._refuse_too_many()

    def _warned_of(self, found: Generator[MatchBatch, None, None]) -> Generator[MatchBatch, None, None]:
        """Hand on matches; where an error ends them, warn of what was lost before."""
        try:
            yield from found
        except Exception:
            self._conclude()
            raise

    def _take(self, reader: Reader) -> Generator[MatchBatch, None, None]:
        self._refuse_after_end()
        self._reader, self._filtered_before = reader, self._filtered
        self._started = self._started or time.perf_counter()
        # All pieces are one stream: ordinals, which are ids where a record gives none, continue.
        reader.start_at(self._records)
        for batch in reader.batches():
            yield from self._pipeline.push(batch, reader)
            self._collect(reader)
            if self._is_in_vain():
                # A caller that waits for the first match of a stream without end should not wait for this too.
                self._has_warned_early = True
                self._warn(reader)
        self._collect(reader)
        self._settled |= {(each.column, each.text, each.line): each for each in reader.settled}
        for unusable_values in reader.unusable_values:
            known = self._unusable_values.get((unusable_values.name, unusable_values.found))
            # Each piece counts anew.
            self._unusable_values[unusable_values.name, unusable_values.found] = (
                unusable_values if known is None else known._replace(records=known.records + unusable_values.records)
            )

    def _finish(self) -> Generator[MatchBatch, None, None]:
        reader = self._reader or self._open(())
        yield from self._pipeline.finish(reader)
        self._over = "finished"
        self._conclude()
        self._warn_of_patterns(reader)

    def _list(self, batches: Iterable[MatchBatch]) -> MatchList:
        return MatchList((found for batch in batches for found in batch), self.patterns, self._options.time_unit)

    def _refuse_after_end(self) -> None:
        if self._over:
            message = f"this session is {self._over}: another stream is another session's"
            raise ValueError(message)

    def _collect(self, reader: Reader) -> None:
        """Take what was rejected by now."""
        letters = [*reader.take_dead_letters(), *self._pipeline.take_dead_letters()]
        self._rejections.add(letters)
        self._dead_letters += letters[: MOST_LETTERS - len(self._dead_letters)]
        self._records, self._filtered = reader.records, self._filtered_before + reader.filtered
        if self._started is not None:
            self._seconds = time.perf_counter() - self._started

    def _is_in_vain(self) -> bool:
        """Return whether no record could be used for so long that it is to be said before the end."""
        if self._has_warned_early or not self._rejections.is_all(self._records):
            return False
        return self._seconds >= _EARLY_SECONDS or self._records >= _EARLY_RECORDS

    def _leave(self) -> None:
        """Warn of what was lost, where the stream is left before its end."""
        if not self._over:
            self._conclude()

    def _conclude(self) -> None:
        """Warn of what was lost, as no more is said later."""
        if self._reader is not None:
            self._collect(self._reader)
            self._warn(self._reader)

    def _warn(self, reader: Reader) -> None:
        """Warn once of all that was lost, unless that was said before; of rejected records if their letters were not taken."""
        kept = len(self._dead_letters)
        how = f"take_dead_letters() gives {'them' if kept == self._rejections.count else f'the first {kept:,} of them'}"
        losses = describe_losses(
            self._pipeline,
            reader,
            self._rejections,
            how,
            by_python(self.time_unit),
            unusable=self._unusable_values.values(),
            settled=self._settled.values(),
            filtered=self._filtered,
        )
        losses.others.extend(self._pipeline.notes)
        sentences = losses.sentences
        if sentences and sentences != self._said:
            self._said = sentences
            self._notify("\n".join(sentences), losses.category)

    def _refuse_too_many(self, matches: MatchList | None = None) -> None:
        """Refuse a stream of which more records were rejected than the options allow.

        Raises:
            RejectedRecordsError: that is so.
        """
        most, rejected = self._options.max_rejected, self._before.count + self._rejections.count
        if most is not None and is_too_much(rejected, self._records, most):
            error = RejectedRecordsError(rejected, self._records, most)
            error.matches = matches or ()
            raise error

    def _warn_of_patterns(self, reader: Reader) -> None:
        """Warn once of what does not fit the stream, at its end; an empty stream in memory is the caller's own."""
        if not self._records and reader.bytes_total is None:
            return
        if found := describe_names(self._pipeline, self._records):
            self._notify("\n".join(found), PatternWarning)

    @contextlib.contextmanager
    def _warning_later(self) -> Iterator[None]:
        """Let warnings wait for `_take_warnings`: in another thread they would name no caller."""
        before, self._notify = self._notify, lambda text, category: self._reported.append((text, category))
        try:
            yield
        finally:
            self._notify = before

    def _take_warnings(self) -> list[tuple[str, type[Warning]]]:
        sentences, self._reported = self._reported, []
        return sentences

    def _open(self, records: Records, *, live: bool = False) -> Reader:
        return read_by(records, self._pipeline, self._options, ReaderOptions(live=live))


def read_by(records: Records, pipeline: Pipeline, options: MatchOptions, reading: ReaderOptions) -> Reader:
    """Open one stream, or several by name, for the patterns of a pipeline; `reading` says how they are written.

    Raises:
        InvalidQueryError: the patterns read other streams than these.
        UnreadableStreamError, TypeError: as `open_reader`.
    """
    given = records.names if isinstance(records, Inputs) else None
    if flaw := flaw_of_streams(pipeline.patterns, given, IN_PYTHON):
        raise InvalidQueryError(flaw)
    own = tune_reader(reading, pipeline, options)
    if isinstance(records, Inputs):
        return merge(records, pipeline, own, open_reader)
    return open_reader(records, own)


def open_reader(records: Records, options: ReaderOptions) -> Reader:
    """Open a path, a table, a record or an iterable of records.

    Raises:
        UnreadableStreamError: a file cannot be opened, or a table cannot be read.
        TypeError: it is of another type.
    """
    if isinstance(records, str | os.PathLike):
        return read_ahead(open_stream(Path(records) if records != "-" else "-", options))
    if isinstance(records, list | tuple) and records and all(isinstance(each, str | os.PathLike) for each in records):
        return read_ahead(open_stream(records, options))
    if is_record(records):
        return from_edges([records], options)
    if hasattr(records, "__arrow_c_stream__") or type(records).__module__.startswith(("pandas", "polars", "pyarrow")):
        return from_table(records, options)
    if isinstance(records, Iterable) and not isinstance(records, bytes | bytearray | memoryview | io.IOBase):
        return from_edges(records, options)
    hint = ""
    if isinstance(records, io.IOBase):
        hint = "; of a file give its path"
    elif isinstance(records, AsyncIterable):
        hint = "; matches of an asynchronous one come by async for over match() or run()"
    message = f"a {type(records).__name__} is not a stream of records: {_STREAMS}{hint}"
    raise TypeError(message)


def is_record(value: object) -> TypeGuard[Edge | Mapping[str, object]]:
    """Return whether a value is one record by itself, not several; named tuples and dataclasses are read as dictionaries."""
    return (
        isinstance(value, Edge | Mapping)
        or hasattr(value, "_asdict")
        or hasattr(value, "__struct_fields__")
        or (is_dataclass(value) and not isinstance(value, type))
    )


def parse_text(pattern: Patterns) -> tuple[AnyPattern, ...]:
    """Return the patterns, parsed if they are text.

    Raises:
        InvalidPatternError: the text is wrong.
        TypeError: it is neither a text nor patterns.
    """
    given: object = pattern
    if isinstance(given, str):
        return parse(given)
    if is_pattern(given):
        return (given,)
    if isinstance(given, list | tuple) and given and all(is_pattern(each) for each in given):
        return tuple(given)
    message = f"a pattern is a text, a parsed pattern or a list of parsed patterns, not {_kind(given)}"
    raise TypeError(message)


def _kind(value: object) -> str:
    """Return what a value is, of a list what is in it."""
    if isinstance(value, list | tuple):
        odd = next((each for each in value if not is_pattern(each)), None)
        return f"a {type(value).__name__} with a {type(odd).__name__} in it" if value else f"an empty {type(value).__name__}"
    return f"a {type(value).__name__}"
