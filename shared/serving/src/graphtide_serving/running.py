"""Serves an application over HTTP until a signal ends it, without fail."""

from __future__ import annotations

import os
import signal
import socket
import sys
from threading import Timer
from typing import TYPE_CHECKING, Final

import uvicorn
from graphtide_core.errors import FatalError

from graphtide_serving.protection.connections import BoundedConnection

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from starlette.types import ASGIApp

_GRACE_SECONDS: Final = 5

_END_SECONDS: Final = 25.0
"""After this time the process ends, even if something still runs in it: the sender of the signal kills it soon anyway."""

_NOT_STARTED: Final = 3


def configuration(app: ASGIApp, host: str = "127.0.0.1", port: int = 0, grace_seconds: int = _GRACE_SECONDS) -> uvicorn.Config:
    """Return how every application is served; requests under way have the grace after a signal."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=BoundedConnection,
        ws="none",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=grace_seconds,
    )


class PortError(FatalError):
    """A port cannot be listened to."""


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; clients that connect wait until it is served. Port 0 takes a free one.

    Raises:
        PortError: another process has it, or this user may not open it.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        # Python's addition to it repeats the same.
        reason = os.strerror(error.errno) if error.errno is not None and error.errno > 0 else error.strerror
        message = f"port {port} of {host} cannot be listened to: {reason}"
        raise PortError(message) from error


class _Server(uvicorn.Server):
    """A server that a signal ends, even if a thread of its process never returns."""

    def __init__(self, config: uvicorn.Config, end_seconds: float, on_started: Callable[[], None]) -> None:
        """End the process so many seconds after a signal at the latest; `on_started` is called when requests are answered."""
        super().__init__(config)
        self._end_seconds = end_seconds
        self._on_started = on_started
        self.ended_by: int | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin."""
        await super().startup(sockets)
        if self.started:
            self._on_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end."""
        if not self.should_exit:
            last = Timer(self._end_seconds, os._exit, [128 + sig])
            last.daemon = True
            last.start()
        self.ended_by = sig
        super().handle_exit(sig, frame)
        # Uvicorn would send itself the signal again at its end and die of it; but the process has ended as it should.
        self._captured_signals.clear()


def run(
    app: ASGIApp,
    host: str,
    port: int,
    end_seconds: float = _END_SECONDS,
    *,
    grace_seconds: int = _GRACE_SECONDS,
    bound: socket.socket | None = None,
    on_started: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT, and so many seconds longer at most; call it from the main thread.

    Returns when all requests under way had their answers. A second SIGINT does not wait for that.

    Args:
        app: what to serve.
        host: address to listen on.
        port: of that address.
        end_seconds: see above.
        grace_seconds: how long requests under way may take after the signal; those that follow events never end by themselves.
        bound: from `listening`, if that was called before; it is closed at the end.
        on_started: called when requests are answered.

    Raises:
        SystemExit: the port cannot be opened, the application does not begin, or requests had no answer within their grace.
    """
    try:
        own = bound or listening(host, port)
    except PortError as error:
        raise SystemExit(str(error)) from error
    server = _Server(configuration(app, host, port, grace_seconds), end_seconds, on_started)
    with own:
        server.run([own])
    if server.force_exit or server.server_state.tasks:
        # Requests under way were dropped.
        sys.exit(128 + (server.ended_by or signal.SIGINT))
    if not server.started and server.ended_by is None:
        sys.exit(_NOT_STARTED)
