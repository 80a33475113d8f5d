"""Serve health and metrics for a process without other HTTP, in a thread of its own."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Final

import structlog
import uvicorn
from fastapi import FastAPI
from graphtide_core.errors import FatalError
from graphtide_telemetry import events
from graphtide_telemetry.health import STUCK_SECONDS
from graphtide_telemetry.requests import REQUESTS
from pydantic import BaseModel, Field

from graphtide_serving.http import answer_with_problems, health_routes
from graphtide_serving.protection.hosts import Hosts, KnownHosts
from graphtide_serving.running import configuration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_telemetry.health import Look

_LOG = structlog.get_logger()
_PATIENCE: Final = 5.0


class HealthSettings(BaseModel):
    """Settings of the health endpoint.

    Attributes:
        enabled: serve health and metrics over HTTP.
        host: address to listen on.
        port: port to listen on; 0 takes a free port, which the log shows.
        hosts: accepted host names, besides loopback and cluster names; `*` accepts any.
        stuck_seconds: time without progress after which a worker counts as stuck.
    """

    enabled: bool = True
    host: str = "127.0.0.1"
    port: int = Field(default=0, ge=0, le=65535)
    hosts: list[str] = Field(default_factory=list)
    stuck_seconds: float = Field(default=STUCK_SECONDS, gt=0)


class HealthPortError(FatalError):
    """The port of health cannot be opened."""


@contextmanager
def serving(settings: HealthSettings, alive: Look, ready: Look) -> Iterator[str | None]:
    """Serve the routes while the block runs; gives their URL, None where they are not wanted.

    Raises:
        HealthPortError: the port cannot be opened.
    """
    if not settings.enabled:
        yield None
        return
    listening = _listening(settings)
    host, port = listening.getsockname()[:2]
    app = FastAPI(openapi_url=None, telemetry=REQUESTS)
    answer_with_problems(app)
    app.include_router(health_routes(alive, ready))
    app.add_middleware(KnownHosts, hosts=Hosts(settings.hosts))
    server = uvicorn.Server(configuration(app, grace_seconds=1))
    thread = Thread(target=server.run, args=([listening],), name="health", daemon=True)
    thread.start()
    _LOG.info(events.HEALTH_LISTENING, host=host, port=port)
    try:
        yield f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join(_PATIENCE)
        listening.close()


def _listening(settings: HealthSettings) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        return socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        message = f"health cannot be served on {settings.host}:{settings.port}: {error.strerror}"
        raise HealthPortError(message) from error
