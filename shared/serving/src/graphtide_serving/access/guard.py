"""Access to the routes of a service: it is checked before anything of a body is read."""

from __future__ import annotations

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import anyio
from fastapi import Request, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from graphtide_core.errors import GraphtideError
from graphtide_telemetry import attributes
from opentelemetry.trace import get_current_span
from starlette.datastructures import Headers, QueryParams

from graphtide_serving.access.callers import Authentication, Caller
from graphtide_serving.access.rate import RateLimit
from graphtide_serving.access.tickets import Tickets
from graphtide_serving.clock import SystemClock
from graphtide_serving.http import ProblemError, problem_of
from graphtide_serving.pages import is_page

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

OPEN: Final = frozenset({"/livez", "/readyz", "/metrics", "/openapi.json", "/docs"})
"""Paths that ask for no caller, beside those of pages."""

TICKETED: Final = ":stream"
"""Ends of paths that take a ticket in their address, since a page cannot set headers when it asks a browser for events."""

_MOST_ASKING: Final = 8
"""Threads that authenticate callers: a provider of tokens that does not answer holds up no others."""

_KEY = APIKeyHeader(name="X-API-Key", description="An API key.", auto_error=False)
_BEARER = HTTPBearer(description="A token of the OpenID provider.", auto_error=False)


class Guard:
    """Knows callers, and lets none call too often; `requires` says what they may do."""

    def __init__(self, authentication: Authentication, rate: RateLimit, tickets: Tickets | None = None) -> None:
        """Authenticate callers by these."""
        self._authentication = authentication
        self._rate = rate
        self.tickets = tickets or Tickets(SystemClock())
        self._asking = anyio.CapacityLimiter(_MOST_ASKING)

    async def admit(self, headers: Headers, address: str, ticket: str | None = None) -> Caller:
        """Return who calls; a ticket counts where no header says it.

        Raises:
            ProblemError: the caller is unknown, or calls too often.
            TransientError: the identity provider does not answer.
        """
        kind, _, token = headers.get("authorization", "").partition(" ")
        bearer = token.strip() if kind.lower() == "bearer" and token.strip() else None
        key, ask = headers.get("x-api-key"), self._authentication.caller
        if ticket is not None and key is None and bearer is None:
            caller = self.tickets.caller(ticket)
        elif bearer is None:
            caller = ask(key, None)
        else:
            caller = await anyio.to_thread.run_sync(ask, key, bearer, limiter=self._asking)
        self._bound(f"caller {caller.name}" if caller is not None else f"address {address}")
        if caller is None:
            raise _unknown()
        return caller

    def requires(self, scope: str) -> Callable[..., object]:
        """Return the dependency of a route that needs a scope."""
        # The description of the API is made from these two, with the scope; the caller is known before.
        shows_key, shows_token = Security(_KEY, scopes=[scope]), Security(_BEARER, scopes=[scope])

        async def check(
            request: Request,
            _key: str | None = shows_key,
            _bearer: HTTPAuthorizationCredentials | None = shows_token,
        ) -> None:
            caller = caller_of(request.scope)
            if caller is None:
                raise _unknown()
            if not caller.may(scope):
                detail = f"this needs the scope {scope!r}, which you were not granted"
                raise ProblemError(HTTPStatus.FORBIDDEN, "forbidden", detail)

        return check

    def _bound(self, caller: str) -> None:
        if seconds := self._rate.wait(caller, time.monotonic()):
            wait, rate = int(seconds) + 1, self._rate.per_second
            detail = (
                f"you call more often than {rate:g} times a second, with {self._rate.burst:,} at once; try again in {wait} s"
            )
            raise ProblemError(HTTPStatus.TOO_MANY_REQUESTS, "too-many-requests", detail, headers={"Retry-After": str(wait)})


class Admission:
    """An application for known callers, except for its open paths; `caller_of` identifies the caller of a request."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        """Let this guard decide."""
        self._app = app
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "http" and scope["path"] not in OPEN and not is_page(scope["path"]):
            client = scope.get("client")
            try:
                caller = await self._guard.admit(Headers(scope=scope), client[0] if client else "unknown", _ticket_of(scope))
            except GraphtideError as error:
                await problem_of(error).response()(scope, receive, send)
                return
            scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)


def _ticket_of(scope: Scope) -> str | None:
    """Return the ticket in the address of a request, and keep it out of traces."""
    if not scope["path"].endswith(TICKETED):
        return None
    ticket = QueryParams(scope["query_string"]).get("ticket")
    if ticket is not None:
        get_current_span().set_attribute(attributes.URL_QUERY, "REDACTED")
    return ticket


def caller_of(scope: Scope) -> Caller | None:
    """Return who makes a request; None where callers are not asked to log in."""
    caller: Caller | None = scope.get("state", {}).get("caller")
    return caller


def _unknown() -> ProblemError:
    detail = "show who you are: an API key in X-API-Key, or a bearer token in Authorization"
    return ProblemError(HTTPStatus.UNAUTHORIZED, "unauthenticated", detail, headers={"WWW-Authenticate": "Bearer"})
