"""Connections to hosts that users named: only to addresses that were checked."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from graphtide_core.outbound_addresses import RefusedAddressError

from graphtide_alerts.application.ports import UndeliverableError, UndeliveredError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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


def connect_to_first(addresses: Sequence[Address], port: int, seconds: float) -> socket.socket:
    """Return a connection to the first address that answers; each operation on it ends after so many seconds.

    Raises:
        OSError: none answers.
    """
    for address in addresses[:-1]:
        with suppress(OSError):
            return socket.create_connection((str(address), port), seconds)
    return socket.create_connection((str(addresses[-1]), port), seconds)


@contextmanager
def ending_after(seconds: float, connection: Callable[[], socket.socket | None]) -> Iterator[None]:
    """End a connection after so many seconds of the block: who sends a byte at a time keeps each time-out of a socket."""

    def cut() -> None:
        found = connection()
        if found is not None:
            with suppress(OSError):
                found.shutdown(socket.SHUT_RDWR)

    guard = threading.Timer(seconds, cut)
    guard.daemon = True
    guard.start()
    try:
        yield
    finally:
        guard.cancel()


def resolve_host(host: str) -> list[str]:
    """Return the addresses of a host, as the system knows them.

    Raises:
        OSError: it has none.
    """
    return [str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
