"""An application served over HTTP for as long as a test needs it."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp

_PATIENCE = 10.0


class _Server(uvicorn.Server):
    """Tells when it has begun, and leaves signals to the tests."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """Serve the application in a thread on a free port; gives its URL."""
    server = _Server(uvicorn.Config(app, port=0, log_config=None, timeout_graceful_shutdown=1))
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
