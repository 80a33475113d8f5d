"""An application served over HTTP for as long as a test needs it, and a client that speaks as badly as it likes."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import uvicorn
from graphtide_serving.protection.connections import BoundedConnection
from graphtide_serving.running import configuration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp

_PATIENCE: Final = 10.0
_BLOCK: Final = 65_536


class _Server(uvicorn.Server):
    """Notes when it has begun, and leaves signals to the tests."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@contextmanager
def serve(app: ASGIApp, connection: type[BoundedConnection] = BoundedConnection) -> Iterator[str]:
    """Serve the application in a thread on a free port, as every service is; gives its URL."""
    config = configuration(app, grace_seconds=1)
    config.http = connection
    server = _Server(config)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        thread.join(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(_PATIENCE)


class Raw:
    """A connection that sends bytes as they are given."""

    def __init__(self, url: str) -> None:
        """Connect."""
        self._socket = socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), 30)

    def send(self, data: bytes) -> None:
        """Send bytes, as far as the other side takes them before it ends the connection."""
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return

    def push(self, most_bytes: int) -> int:
        """Send up to so many bytes, no more than the other side takes at once; return how many."""
        self._socket.settimeout(0.2)
        sent = 0
        try:
            while sent < most_bytes:
                sent += self._socket.send(b"x" * min(_BLOCK, most_bytes - sent))
        except OSError:
            return sent
        return sent

    def answer(self, seconds: float = 30.0) -> bytes:
        """Return what comes until the other side ends the connection or an answer with a length is whole.

        Raises:
            TimeoutError: nothing comes for so long.
        """
        self._socket.settimeout(seconds)
        found = b""
        while not _is_whole(found):
            try:
                more = self._socket.recv(_BLOCK)
            except ConnectionResetError:
                break
            if not more:
                break
            found += more
        return found

    def close(self) -> None:
        """End the connection."""
        self._socket.close()


@contextmanager
def raw(url: str) -> Iterator[Raw]:
    """Connect to a URL, for as long as the block runs."""
    connection = Raw(url)
    try:
        yield connection
    finally:
        connection.close()


def _is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    lengths = [line.partition(b":")[2] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return bool(end and lengths) and len(body) >= int(lengths[0])
