"""Access to the routes of a service: it is checked before anything of a body is read."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio
from fastapi import Request, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from graphtide_core.errors import GraphtideError
from graphtide_telemetry import attributes
from opentelemetry.trace import get_current_span
from starlette.datastructures import Headers, QueryParams

from graphtide_serving.access.callers import Authentication, Caller, RefusedTokenError
from graphtide_serving.access.rate import RateLimit
from graphtide_serving.access.rights import name_rights
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


class Subject(NamedTuple):
    """What a request is about: a pattern, the stream that it reads, or a stream alone."""

    pattern: str | None = None
    stream: str | None = None


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
        refused: RefusedTokenError | None = None
        caller = None
        if ticket is not None and key is None and bearer is None:
            caller = self.tickets.caller(ticket)
        elif bearer is None:
            caller = ask(key, None)
        else:
            try:
                caller = await anyio.to_thread.run_sync(ask, key, bearer, limiter=self._asking)
            except RefusedTokenError as error:
                refused = error
        self._bound(f"caller {caller.name}" if caller is not None else f"address {address}")
        if caller is None:
            raise _unknown(refused)
        return caller

    def requires(self, scope: str) -> Callable[..., object]:
        """Return the dependency of a route about everything: it needs a scope, and no right to a name is enough."""

        async def check(_: Request, caller: Caller) -> None:
            require(caller, scope)

        return _dependency(scope, check)

    def requires_known(self) -> Callable[..., object]:
        """Return the dependency of a route that needs no scope, but a known caller."""

        async def check(_: Request, __: Caller) -> None: ...

        return _dependency(None, check)

    def requires_some(self, scope: str) -> Callable[..., object]:
        """Return the dependency of a route that needs a scope of anything; the route itself looks of what."""

        async def check(_: Request, caller: Caller) -> None:
            require_some(caller, scope)

        return _dependency(scope, check)

    def requires_of(self, scope: str, subject_of: Callable[[Request], Subject]) -> Callable[..., object]:
        """Return the dependency of a route that needs a scope of its subject, which is looked for if it matters.

        A refusal shows neither the stream of a pattern nor whether the pattern exists.
        """

        async def check(request: Request, caller: Caller) -> None:
            if caller.may(scope):
                return
            require_some(caller, scope)
            pattern, stream = await anyio.to_thread.run_sync(subject_of, request)
            if not caller.may(scope, pattern=pattern, stream=stream):
                raise forbidden(scope, pattern, stream if pattern is None else None)

        return _dependency(scope, check)

    def _bound(self, caller: str) -> None:
        if seconds := self._rate.wait(caller, time.monotonic()):
            wait, rate = int(seconds) + 1, self._rate.per_second
            detail = (
                f"you call more often than {rate:g} times a second, with {self._rate.burst:,} at once; try again in {wait} s"
            )
            raise ProblemError(HTTPStatus.TOO_MANY_REQUESTS, "too-many-requests", detail, headers={"Retry-After": str(wait)})


def _dependency(scope: str | None, check: Callable[[Request, Caller], Awaitable[None]]) -> Callable[..., object]:
    """Return a dependency that checks the caller of a request."""
    # The description of the API is made from these two, with the scope; the caller is known before.
    scopes = [] if scope is None else [scope]
    shows_key, shows_token = Security(_KEY, scopes=scopes), Security(_BEARER, scopes=scopes)

    async def look(
        request: Request,
        _key: str | None = shows_key,
        _bearer: HTTPAuthorizationCredentials | None = shows_token,
    ) -> None:
        await check(request, known_caller(request))

    return look


def require(caller: Caller, scope: str, pattern: str | None = None, stream: str | None = None) -> None:
    """Do nothing if a caller has a scope, as `Caller.may` has it.

    Raises:
        ProblemError: 403, which names the scopes that are enough.
    """
    if not caller.may(scope, pattern=pattern, stream=stream):
        raise forbidden(scope, pattern, stream)


def require_some(caller: Caller, scope: str) -> None:
    """Do nothing if a caller has a scope of anything.

    Raises:
        ProblemError: 403.
    """
    if not caller.may_some(scope):
        raise forbidden(scope)


def forbidden(scope: str, pattern: str | None = None, stream: str | None = None) -> ProblemError:
    """Return the problem of a caller without a right; it names the scopes that are enough."""
    detail = f"this needs the scope {name_rights(scope, pattern, stream)}, which you were not granted"
    return ProblemError(HTTPStatus.FORBIDDEN, "forbidden", detail)


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


def known_caller(request: Request) -> Caller:
    """Return who makes a request.

    Raises:
        ProblemError: 401, nobody is known.
    """
    caller = caller_of(request.scope)
    if caller is None:
        raise _unknown()
    return caller


def _unknown(refused: RefusedTokenError | None = None) -> ProblemError:
    detail = "show who you are: an API key in X-API-Key, or a bearer token in Authorization"
    challenge = "Bearer"
    if refused is not None:
        # As RFC 6750 says it.
        detail, challenge = f"the bearer token is refused: {refused}", 'Bearer error="invalid_token"'
    return ProblemError(HTTPStatus.UNAUTHORIZED, "unauthenticated", detail, headers={"WWW-Authenticate": challenge})
