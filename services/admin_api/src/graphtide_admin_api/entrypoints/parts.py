"""What the routes work with."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastapi import Header, Request

from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.entrypoints.middleware import Counts

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.ports.log import Log
    from graphtide_wire.topics import Topics

    from graphtide_admin_api.application.matches import RecentMatches
    from graphtide_admin_api.application.patterns import Patterns
    from graphtide_admin_api.application.reading import Streams
    from graphtide_admin_api.application.view import View
    from graphtide_admin_api.domain.access import Authentication, Caller
    from graphtide_admin_api.domain.rate import RateLimit


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of requests: bytes of a body, streams of events at once, seconds between two signs of life of one."""

    most_body_bytes: int = 8 * 1024 * 1024
    most_event_streams: int = 200
    heartbeat_seconds: float = 15.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What bootstrap puts together for the routes."""

    log: Log
    topics: Topics
    view: View
    patterns: Patterns
    recent: RecentMatches
    streams: Streams
    authentication: Authentication
    rate: RateLimit
    is_working: Callable[[], bool]
    bounds: Bounds = field(default_factory=Bounds)
    counts: Counts = field(default_factory=Counts)

    def requires(self, scope: str) -> Callable[..., Caller]:
        """Return what lets a request go on if its caller has a scope and does not call too often."""

        def check(
            request: Request,
            x_api_key: str | None = Header(None, description="An API key."),
            authorization: str | None = Header(None, description="Bearer and a token of the OpenID provider."),
        ) -> Caller:
            kind, _, token = (authorization or "").partition(" ")
            bearer = token.strip() if kind.lower() == "bearer" and token.strip() else None
            caller = self.authentication.caller(x_api_key, bearer)
            address = request.client.host if request.client is not None else "unknown"
            self._bound(f"caller {caller.name}" if caller is not None else f"address {address}")
            if caller is None:
                detail = "show who you are: an API key in X-API-Key, or a bearer token in Authorization"
                raise ProblemError(401, "unauthenticated", detail, headers={"WWW-Authenticate": "Bearer"})
            if not caller.may(scope):
                raise ProblemError(403, "forbidden", f"this needs the scope {scope!r}, which you were not granted")
            return caller

        return check

    def _bound(self, caller: str) -> None:
        if seconds := self.rate.wait(caller, time.monotonic()):
            headers = {"Retry-After": str(int(seconds) + 1)}
            raise ProblemError(429, "too-many-requests", "you call too often; wait, and try again", headers=headers)
