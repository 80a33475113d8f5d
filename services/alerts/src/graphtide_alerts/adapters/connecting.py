"""Connections to hosts that users named: only to addresses that were checked, and each for a time."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

from graphtide_core.outbound_addresses import RefusedAddressError

from graphtide_alerts.application.ports import UndeliverableError, UndeliveredError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.outbound_addresses import Address


@contextmanager
def looking_up() -> Iterator[None]:
    """Give errors of addresses their meaning for an attempt.

    Raises:
        UndeliverableError: an address was refused in the block.
        UndeliveredError: a host could not be looked up.
    """
    try:
        yield
    except RefusedAddressError as error:
        raise UndeliverableError(str(error)) from None
    except OSError as error:
        message = f"the host of the target cannot be looked up: {error.strerror or error}"
        raise UndeliveredError(message) from None


class Deadline:
    """Ends the connection that a block makes after so many seconds of it.

    A time-out of a socket is for one operation alone: who sends a byte at a time keeps each. The addresses of a host share the
    time, so that one that is silent leaves some to the next.
    """

    def __init__(self, seconds: float) -> None:
        """Prepare; the time begins with the block."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._kept: socket.socket | None = None
        self._is_over = False

    def __enter__(self) -> Self:
        """Begin."""
        self._until = time.monotonic() + self._seconds
        self._timer = threading.Timer(self._seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Let the connection be."""
        self._timer.cancel()
        with self._lock:
            self._is_over = True
            if self._kept is not None:
                self._kept.close()

    def connect(self, addresses: Sequence[Address], port: int) -> socket.socket:
        """Return a connection to the first address that answers; the block makes one.

        Raises:
            OSError: none answers in time.
        """
        for tried, address in enumerate(addresses[:-1]):
            with suppress(OSError):
                return self._connect(address, port, len(addresses) - tried)
        return self._connect(addresses[-1], port, 1)

    def _connect(self, address: Address, port: int, sharing: int) -> socket.socket:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        found = socket.create_connection((str(address), port), left / sharing)
        found.settimeout(self._seconds)
        with self._lock:
            # TLS takes the socket over; the connection is the same under another number.
            self._kept = socket.socket(fileno=os.dup(found.fileno()))
        return found

    def _cut(self) -> None:
        with self._lock, suppress(OSError):
            if self._kept is not None and not self._is_over:
                self._kept.shutdown(socket.SHUT_RDWR)


def resolve_host(host: str) -> list[str]:
    """Return the addresses of a host, as the system knows them.

    Raises:
        OSError: it has none.
    """
    return [str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
