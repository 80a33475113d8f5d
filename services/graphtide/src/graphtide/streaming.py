"""The matches of one stream as they come, for loops and for event loops."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, Self

from graphtide_core.result_edges import ResultEdges
from graphtide_core.time import EventTime
from graphtide_core.time_text import instant_of
from graphtide_query.families import family_of

from graphtide.matches import MatchList, to_pandas
from graphtide.rejections import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from contextlib import AbstractContextManager
    from types import TracebackType

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.edge import Edge
    from graphtide_core.match import Match
    from graphtide_core.ports.dead_letter_sink import DeadLetter
    from graphtide_core.time import TimeUnit
    from graphtide_native.match_batch import MatchBatch

    from graphtide.asynchronous import Bridge, Steps
    from graphtide.one_at_a_time import OneAtATime
    from graphtide.readers import Reader
    from graphtide.summary import Summary


class OfSession(Protocol):
    """What a session does for the matches of one stream; only these two call it."""

    @property
    def patterns(self) -> tuple[AnyPattern, ...]:
        """What is matched."""
        ...

    @property
    def time_unit(self) -> TimeUnit:
        """What times of the stream count."""
        ...

    @property
    def _alone(self) -> OneAtATime:
        """Entered by one thread at a time."""
        ...

    def _table(self, parts: Iterable[tuple[MatchBatch, int]]) -> pa.Table:
        """Return matches of batches, of each from a place on, as a table."""
        ...

    def take_dead_letters(self) -> list[DeadLetter]:
        """Return the records rejected since the last call."""
        ...

    def _run(self, reader: Reader) -> Generator[MatchBatch, None, None]:
        """Match a stream to its end."""
        ...

    def _leave(self) -> None:
        """Warn of what was lost, where the stream is left before its end."""
        ...

    def summary(self) -> Summary:
        """Return what was done so far, in counts."""
        ...

    def _warning_later(self) -> AbstractContextManager[None]:
        """Let warnings wait for `_take_warnings`."""
        ...

    def _take_warnings(self) -> list[tuple[str, type[Warning]]]:
        """Return the warnings that waited."""
        ...


class Matches(Iterator["Match"], AsyncIterator["Match"]):
    """The matches of one stream, which is read as they are asked for; see `graphtide.match`.

    To be iterated by `for` or, in an event loop, by `async for`. Then a thread of its own reads and matches the stream. The
    event loop reads an asynchronous source, up to some hundred records ahead. A wait that is cancelled loses nothing.

    A context manager, of both kinds: leaving its block closes it. To be used by one thread at a time.
    """

    def __init__(self, session: OfSession, reader: Reader, source: Bridge | None = None) -> None:
        """Prepare; nothing is matched yet."""
        self._session = session
        self._source = source
        self._waiting = _Waiting(session._run(reader))  # noqa: SLF001 - a part of the session
        self._found = self._waiting.each()
        self._steps: Steps[MatchBatch | None] | None = None
        # A stream that was opened and is never iterated is closed, too.
        self._forgotten = weakref.finalize(self, reader.close)

    def edges(self) -> Iterator[Edge]:
        """Return the results of graph queries as a stream of edges, for `match(pattern, match(view, s).edges())`.

        An edge comes when a result becomes valid, and is deleted when the result is withdrawn; matches of patterns give none.
        """
        return ResultEdges().of(self)

    def __next__(self) -> Match:
        """Return the next match.

        Raises as `match`, RuntimeError where another thread is using it or its session, and TypeError where the source is
        asynchronous.
        """
        self._refuse_asynchronous()
        with self._session._alone:  # noqa: SLF001 - a part of the session
            return next(self._found)

    def _parts(self) -> Generator[tuple[MatchBatch, int], None, None]:
        """Yield the batches that are left, and where those of their matches begin that were not handed on. Raises as `next`."""
        self._refuse_asynchronous()
        with self._session._alone:  # noqa: SLF001 - a part of the session
            yield from self._waiting.parts()

    def _refuse_asynchronous(self) -> None:
        if self._source is not None:
            message = "the source is asynchronous: iterate over its matches by async for"
            raise TypeError(message)

    async def __anext__(self) -> Match:
        """Return the next match. Raises as `match`, and RuntimeError where another task waits for it."""
        while (found := self._waiting.take()) is None:
            if self._steps is None:
                from graphtide.asynchronous import Steps  # noqa: PLC0415 - without an event loop there is no wait for asyncio

                self._steps = Steps(_Step(self._session, self._waiting), self._source)
                weakref.finalize(self, _forget, self._steps, self._source)
            try:
                batch = await self._steps.next()
            finally:
                # Warned here, where the caller that waits can be named.
                self._hand_on_warnings()
            if batch is None:
                self._steps.end()
                raise StopAsyncIteration
        return found

    async def collect(self) -> MatchList:
        """Return the matches that are left as a list, which can be made a table; for a source that is asynchronous."""
        return MatchList([found async for found in self], self._session.patterns, self._session.time_unit)

    def __enter__(self) -> Self:
        """Return the matches themselves."""
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """Close."""
        self.close()

    async def __aenter__(self) -> Self:
        """Return the matches themselves."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        await self.aclose()

    def to_arrow(self) -> pa.Table:
        """Return the matches that are left as a table of pyarrow, a row a match; see `graphtide.matches` for its columns."""
        return self._session._table(self._parts())  # noqa: SLF001 - a part of the session

    def to_pandas(self) -> pd.DataFrame:
        """Return the same as a data frame of pandas. Raises ImportError where pandas is not installed."""
        return to_pandas(self.to_arrow())

    def to_polars(self) -> pl.DataFrame:
        """Return the same as a data frame of polars. Raises as `graphtide.polars_frames.to_polars`."""
        from graphtide.polars_frames import frame_of  # noqa: PLC0415 - optional

        return frame_of(self.to_arrow(), self._session.time_unit)

    def valid_at(self, at: int | str | datetime) -> MatchList:
        """Return the results of graph queries that are valid at a time, in the order in which they became valid.

        It reads the stream up to that time. `at` is ticks, a date as a text, or a datetime.

        Raises:
            ValueError: it is not a time of the stream, or a pattern has no results that are valid for a time.
        """
        from graphtide_native.results_at import ResultsAt  # noqa: PLC0415 - other uses do without

        session = self._session
        for pattern in session.patterns:
            if not family_of(pattern).layout(pattern).outputs:
                message = f"pattern {pattern.name!r} has no results that are valid for a time: only streaming graph queries do"
                raise ValueError(message)
        instant = instant_of(at.isoformat() if isinstance(at, datetime) else str(at), session.time_unit)
        valid = ResultsAt(EventTime(instant))
        with contextlib.closing(self._parts()) as parts:
            is_past = any(valid.take(batch, start) for batch, start in parts)
        if is_past:
            self.close()
        return MatchList(valid.results() or (), session.patterns, session.time_unit)

    def take_dead_letters(self) -> list[DeadLetter]:
        """Return the records rejected since the last call; see `Session.take_dead_letters`."""
        return self._session.take_dead_letters()

    def summary(self) -> Summary:
        """Return what was done so far, in counts; see `Session.summary`."""
        return self._session.summary()

    def close(self) -> None:
        """Close the stream; done by itself at its end. Nothing comes after it."""
        self._release()
        if self._steps is not None:
            _forget(self._steps, self._source)

    async def aclose(self) -> None:
        """Do the same in an event loop: waits for what is under way there, unless its source blocks."""
        if self._steps is None:
            self._release()
        else:
            await self._steps.close(self._release_silently)
            self._hand_on_warnings()

    def _release(self) -> None:
        with self._session._alone:  # noqa: SLF001 - a part of the session
            self._waiting.close()
            self._found.close()
            self._session._leave()  # noqa: SLF001 - a part of the session
            self._forgotten()

    def _release_silently(self) -> None:
        with self._session._warning_later():  # noqa: SLF001 - a part of the session
            self._release()

    def _hand_on_warnings(self) -> None:
        for text, category in self._session._take_warnings():  # noqa: SLF001 - a part of the session
            warn(text, category)


class _Waiting:
    """Matches that are to be handed on: those of a batch, and the batches to come. It does not know whose they are."""

    def __init__(self, batches: Generator[MatchBatch, None, None]) -> None:
        self._batches = batches
        self._batch: MatchBatch | None = None
        self._at_hand, self._place = _nothing()

    def each(self) -> Generator[Match, None, None]:
        """Yield all matches; a batch that another thread has taken meanwhile, too."""
        while True:
            at_hand = self._at_hand
            yield from at_hand
            if self._at_hand is at_hand and self.load() is None:
                return

    def load(self) -> MatchBatch | None:
        """Take the next batch; None if there is none."""
        self._batch = next(self._batches, None)
        if self._batch is not None:
            self._at_hand, self._place = self._batch.matches_and_place()
        return self._batch

    def parts(self) -> Generator[tuple[MatchBatch, int], None, None]:
        """Yield the batches that are left, and the place of the first match of each that was not handed on."""
        if self._batch is not None:
            batch, place = self._batch, self._place()
            self._forget()
            yield batch, place
        for batch in self._batches:
            yield batch, 0

    def take(self) -> Match | None:
        """Return the next match of the batch; None if there is none."""
        return next(self._at_hand, None)

    def close(self) -> None:
        """Give nothing more."""
        self._forget()
        self._batches.close()

    def _forget(self) -> None:
        """Hand on no more of the batch."""
        self._batch = None
        self._at_hand.close()
        self._at_hand, self._place = _nothing()


def _nothing() -> tuple[Generator[Match, None, None], Callable[[], int]]:
    none: tuple[Match, ...] = ()
    return (match for match in none), lambda: 0


class _Step:
    """Takes the next batch, in a thread; what it has to say waits in the session."""

    def __init__(self, session: OfSession, waiting: _Waiting) -> None:
        self._session = session
        self._waiting = waiting

    def __call__(self) -> MatchBatch | None:
        with self._session._alone, self._session._warning_later():  # noqa: SLF001 - a part of the session
            return self._waiting.load()


def _forget(steps: Steps[MatchBatch | None], source: Bridge | None) -> None:
    if source is not None:
        source.forget()
    steps.end()
