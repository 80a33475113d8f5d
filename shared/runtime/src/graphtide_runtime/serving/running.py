"""Serving an application over HTTP until a signal ends it; and it does end it."""

from __future__ import annotations

import os
import sys
from threading import Timer
from typing import TYPE_CHECKING, Final

import uvicorn

from graphtide_runtime.serving.connections import BoundedConnection

if TYPE_CHECKING:
    from types import FrameType

    from starlette.types import ASGIApp

_GRACE_SECONDS: Final = 5

_END_SECONDS: Final = 25.0
"""After so long the process ends whatever still runs in it: whoever sent the signal kills it soon anyway."""

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


class _Server(uvicorn.Server):
    """A server that a signal ends, even where a thread of its process never comes back."""

    def __init__(self, config: uvicorn.Config, end_seconds: float) -> None:
        """End the process so many seconds after a signal at the latest."""
        super().__init__(config)
        self._end_seconds = end_seconds

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end."""
        if not self.should_exit:
            last = Timer(self._end_seconds, os._exit, [128 + sig])
            last.daemon = True
            last.start()
        super().handle_exit(sig, frame)


def run(app: ASGIApp, host: str, port: int, end_seconds: float = _END_SECONDS) -> None:
    """Serve until SIGTERM or SIGINT, and so many seconds longer at most; call it from the main thread.

    Raises:
        SystemExit: the port cannot be had, or the application does not begin.
    """
    server = _Server(configuration(app, host, port), end_seconds)
    try:
        server.run()
    except KeyboardInterrupt:
        return
    if not server.started:
        sys.exit(_NOT_STARTED)
