"""Poll clients of Kafka that are not used for a while.

librdkafka queues its log lines and errors until the next poll of the client. While a broker is away it adds some every second
or two. So the queue of a client without work would grow for as long as the outage lasts.

One daemon thread in a process polls every open producer, and every reader without partitions, once in `POLL_SECONDS`. It starts
with the first client.
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
        """Take what the client has queued, unless its owner does; never wait."""
        ...


class IdleClients:
    """The open clients of a process, and the thread that polls them."""

    def __init__(self) -> None:
        """Start without a client and without a thread."""
        self._open: WeakSet[Pollable] = WeakSet()
        self._lock = Lock()
        self._thread: Thread | None = None

    def add(self, client: Pollable) -> None:
        """Poll this client from now on, until it is removed or nothing refers to it."""
        with self._lock:
            self._open.add(client)
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, name="kafka-idle-clients", daemon=True)
                self._thread.start()

    def remove(self, client: Pollable) -> None:
        """Stop polling this client."""
        with self._lock:
            self._open.discard(client)

    def _run(self) -> None:
        while True:
            time.sleep(POLL_SECONDS)
            with self._lock:
                clients = list(self._open)
            _poll(clients)
            del clients


def _poll(clients: Iterable[Pollable]) -> None:
    for client in clients:
        try:
            client.poll_idle()
        except Exception:
            LOGGER.exception("polling an idle client failed")


IDLE_CLIENTS: Final = IdleClients()
