"""Appending to the log for many at once: one thread owns the writer, and one flush answers all callers that wait.

While the log acknowledges what was handed over, more gathers for the next flush. So many small requests cost the log few
flushes. The caller bounds the bytes that wait.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import GraphtideError, TransientError
from graphtide_telemetry import events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.ports.log import Log, LogWriter, Message

_LOG = structlog.get_logger()
_CLOSED: Final = "the service is stopping"


@dataclass(frozen=True, slots=True)
class _Handed:
    messages: Sequence[Message]
    done: Future[None]


class Appender:
    """Writes messages in the order they are handed over; safe for threads."""

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

        After a failure the log may still keep them later.
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
        writer: LogWriter | None = None
        going_on = True
        while going_on:
            taken, going_on = self._gather()
            # A sender that gave up got no answer, and need not be written; from here on no sender can give up.
            waiting = [handed for handed in taken if handed.done.set_running_or_notify_cancel()]
            try:
                writer = writer or self._log.writer()
                for handed in waiting:
                    writer.write(handed.messages)
                writer.flush(self._flush_seconds)
            except Exception as error:
                # What failed once may be broken for good; another writer starts from nothing.
                _close(writer)
                writer = None
                for handed in waiting:
                    handed.done.set_exception(_translate_error(error))
            else:
                for handed in waiting:
                    handed.done.set_result(None)
        _close(writer)

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


def _translate_error(error: Exception) -> GraphtideError:
    """Return the error for the callers that wait."""
    if isinstance(error, GraphtideError):
        return error
    _LOG.error(events.APPENDING_FAILED, error=repr(error), exc_info=error)
    return TransientError(f"the log could not be written to: {error!r}")


def _close(writer: LogWriter | None) -> None:
    """Give a writer back, if there is one; it may be broken."""
    with suppress(Exception):
        if writer is not None:
            writer.close()
