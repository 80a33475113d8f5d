"""Appending to the log for many at once: one thread owns the writer, and one flush answers all who wait.

While the log acknowledges what was handed over, more gathers for the next flush. So many small requests cost the log few
flushes. Bytes that wait are bounded by `Room`; nothing is handed over without.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import GraphtideError, TransientError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.ports.log import Log, Message

_CLOSED: Final = "the service is stopping"


@dataclass(frozen=True, slots=True)
class _Handed:
    messages: Sequence[Message]
    done: Future[None]


class Appender:
    """Writes messages in the order in which they are handed over; safe for threads."""

    def __init__(self, log: Log, flush_seconds: float = 10.0) -> None:
        """Write to this log, which must acknowledge within so many seconds."""
        self._log = log
        self._flush_seconds = flush_seconds
        self._queue: SimpleQueue[_Handed | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="appender", daemon=True)
        self._closing = threading.Event()

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def append(self, messages: Sequence[Message]) -> Future[None]:
        """Hand messages over; the future is done when the log keeps all of them, and fails with the `GraphtideError` otherwise.

        After a failure the log may still come to have them.
        """
        done: Future[None] = Future()
        if self._closing.is_set():
            done.set_exception(TransientError(_CLOSED))
            return done
        self._queue.put(_Handed(messages, done))
        return done

    def close(self) -> None:
        """Write what was handed over, and end."""
        self._closing.set()
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        writer = self._log.writer()
        going_on = True
        while going_on:
            taken, going_on = self._gather()
            failed: GraphtideError | None = None
            try:
                for handed in taken:
                    writer.write(handed.messages)
                writer.flush(self._flush_seconds)
            except GraphtideError as error:
                failed = error
                # What failed once may be broken for good; another writer starts from nothing.
                writer.close()
                writer = self._log.writer()
            for handed in taken:
                if failed is None:
                    handed.done.set_result(None)
                else:
                    handed.done.set_exception(failed)
        writer.close()

    def _gather(self) -> tuple[list[_Handed], bool]:
        """Wait for something, and return all there is, and whether more may come."""
        taken: list[_Handed] = []
        try:
            handed = self._queue.get()
            while handed is not None:
                taken.append(handed)
                handed = self._queue.get_nowait()
        except Empty:
            return taken, True
        return taken, False


class Room:
    """Bytes that may be under way; for one thread."""

    def __init__(self, most_bytes: int) -> None:
        """Start with all of it free."""
        self._most_bytes = most_bytes
        self._taken = 0

    @property
    def taken(self) -> int:
        """Bytes under way."""
        return self._taken

    def take(self, size: int) -> bool:
        """Take so many bytes if they are free; all there is counts as enough for one that asks for more."""
        if self._taken and self._taken + size > self._most_bytes:
            return False
        self._taken += size
        return True

    def give_back(self, size: int) -> None:
        """Free what was taken."""
        self._taken -= size
