"""Poll producers that nobody uses for a while.

librdkafka queues its log lines and errors until the next poll of the client. While a broker is away it adds some every second
or two, so the queue of a producer that has nothing to write would grow for as long as the outage lasts.

One daemon thread in a process polls every producer that is open, once in `POLL_SECONDS`. It starts with the first producer.
"""

from __future__ import annotations

import time
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakSet

from graphtide_log.kafka.errors import LOGGER

if TYPE_CHECKING:
    from collections.abc import Iterable

POLL_SECONDS: Final = 1.0


class Pollable(Protocol):
    """A client with a queue of events."""

    def poll_idle(self) -> None:
        """Take what the client has queued; never wait."""
        ...


class IdleProducers:
    """The open producers of a process, and the thread that polls them."""

    def __init__(self) -> None:
        """Start without a producer and without a thread."""
        self._open: WeakSet[Pollable] = WeakSet()
        self._lock = Lock()
        self._thread: Thread | None = None

    def add(self, producer: Pollable) -> None:
        """Poll this producer from now on, until it is removed or nobody refers to it."""
        with self._lock:
            self._open.add(producer)
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, name="kafka-idle-producers", daemon=True)
                self._thread.start()

    def remove(self, producer: Pollable) -> None:
        """Stop to poll this producer."""
        with self._lock:
            self._open.discard(producer)

    def _run(self) -> None:
        while True:
            time.sleep(POLL_SECONDS)
            with self._lock:
                producers = list(self._open)
            _poll(producers)
            del producers


def _poll(producers: Iterable[Pollable]) -> None:
    for producer in producers:
        try:
            producer.poll_idle()
        except Exception:
            LOGGER.exception("polling an idle producer failed")


IDLE_PRODUCERS: Final = IdleProducers()
