"""Steps in a thread of their own and asynchronous sources for it: an event loop can wait for matches.

A cancelled wait loses nothing: the step under way continues, and the next wait gets its result.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable

_AHEAD: Final = 512
"""Records of an asynchronous source that are read before they are asked for."""

_Found = TypeVar("_Found")


class Steps(Generic[_Found]):
    """Steps of an iteration, each taken in one thread, one after the other; the thread ends by `end`."""

    def __init__(self, step: Callable[[], _Found], source: Bridge | None) -> None:
        """Prepare; the thread begins with the first step.

        Args:
            step: takes a step.
            source: what steps wait for, if that is asynchronous.
        """
        self._step = step
        self._source = source
        self._jobs: SimpleQueue[tuple[Callable[[], object], Future[object]] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._is_running = False
        self._under_way: Future[object] | None = None
        self._is_waited_for = False

    async def next(self) -> _Found:
        """Return what a step gives. Raises what it raises, and RuntimeError where another task waits for it."""
        if self._is_waited_for:
            message = "these matches are in use: one task may wait for the next at a time"
            raise RuntimeError(message)
        if self._source is not None:
            self._source.begin()
        if self._under_way is None:
            self._under_way = self._do(self._step)
        self._is_waited_for = True
        try:
            found: object = await _wait(self._under_way)
        except asyncio.CancelledError:
            raise
        except BaseException:
            self._under_way = None
            raise
        finally:
            self._is_waited_for = False
        self._under_way = None
        return found  # type: ignore[return-value] # what the step gave

    async def close(self, close: Callable[[], object]) -> None:
        """Do one thing more after the step that is under way, and end. A source that blocks is not waited for."""
        if self._source is not None:
            await self._source.end()
        is_blocked = self._source is None and self._under_way is not None and not self._under_way.done()
        done = self._do(close)
        self.end()
        if not is_blocked:
            await _wait(done)

    def end(self) -> None:
        """Let the thread end after what it was given."""
        with self._lock:
            if self._is_running:
                self._is_running = False
                self._jobs.put(None)

    def _do(self, job: Callable[[], object]) -> Future[object]:
        done: Future[object] = Future()
        with self._lock:
            self._jobs.put((job, done))
            if not self._is_running:
                self._is_running = True
                # At the end of the program the thread is not waited for: its source may never give anything.
                threading.Thread(target=_work, args=(self._jobs,), name="graphtide-matches", daemon=True).start()
        return done


def _work(jobs: SimpleQueue[tuple[Callable[[], object], Future[object]] | None]) -> None:
    while (given := jobs.get()) is not None:
        job, done = given
        try:
            done.set_result(job())
        except BaseException as error:
            done.set_exception(error)
        # Whose matches are forgotten is to be found out.
        del given, job, done


async def _wait(future: Future[object]) -> object:
    """Wait without ending what is waited for, where the wait is cancelled."""
    return await asyncio.shield(asyncio.wrap_future(future))


class Bridge(Iterator[object]):
    """Records of an asynchronous source, for a thread that waits for them. Some are read ahead."""

    def __init__(self, source: AsyncIterable[object]) -> None:
        """Prepare; nothing is read before `begin`."""
        self._source = source
        self._records: SimpleQueue[object] = SimpleQueue()
        self._is_full = False
        self._room = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reading: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Read in the running event loop.

        Raises:
            RuntimeError: another event loop reads.
        """
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
            self._reading = loop.create_task(self._read())
        elif self._loop is not loop:
            message = "an asynchronous source belongs to one event loop, and this is another"
            raise RuntimeError(message)

    async def end(self) -> None:
        """Read no more; the thread that waits sees the end."""
        if self._reading is None:
            self._records.put(_END)
            return
        self._reading.cancel()
        await asyncio.wait([self._reading])

    def forget(self) -> None:
        """Read no more; from any thread, whether there still is an event loop or not."""
        if self._loop is not None and self._reading is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._reading.cancel)

    def __next__(self) -> object:
        """Return the next record; wait for it. Raises what the source raised."""
        found = self._records.get()
        if found is _END:
            self._records.put(_END)
            raise StopIteration
        if isinstance(found, _Raised):
            self._records.put(_END)
            raise found.error
        if self._is_full and self._loop is not None and self._records.qsize() < _AHEAD // 2:
            self._is_full = False
            self._loop.call_soon_threadsafe(self._room.set)
        return found

    async def _read(self) -> None:
        last: object = _END
        try:
            async for record in self._source:
                self._records.put(record)
                if self._records.qsize() >= _AHEAD:
                    await self._until_there_is_room()
        except Exception as error:
            last = _Raised(error)
        finally:
            self._records.put(last)

    async def _until_there_is_room(self) -> None:
        self._room.clear()
        self._is_full = True
        # The other thread may have taken all before it could see that.
        if self._records.qsize() < _AHEAD // 2:
            self._is_full = False
            return
        await self._room.wait()


@dataclass(frozen=True, slots=True)
class _Raised:
    """What a source raised."""

    error: Exception


_END: Final = object()
