"""What stands before the routes of a service: who may pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from http import HTTPStatus

from fastapi import Header, Request

from graphtide_runtime.access.callers import Authentication, Caller
from graphtide_runtime.access.rate import RateLimit
from graphtide_runtime.http import ProblemError


class Guard:
    """Lets callers pass that are known, have the scope and do not call too often; `requires` is an `Authorize`."""

    def __init__(self, authentication: Authentication, rate: RateLimit | None = None) -> None:
        """Ask this who calls; without a rate everyone may call as often as they like."""
        self._authentication = authentication
        self._rate = rate

    def requires(self, scope: str) -> Callable[..., Caller]:
        """Return the dependency of a route that needs a scope."""

        def check(
            request: Request,
            x_api_key: str | None = Header(None, description="An API key."),
            authorization: str | None = Header(None, description="Bearer and a token of the OpenID provider."),
        ) -> Caller:
            kind, _, token = (authorization or "").partition(" ")
            bearer = token.strip() if kind.lower() == "bearer" and token.strip() else None
            caller = self._authentication.caller(x_api_key, bearer)
            address = request.client.host if request.client is not None else "unknown"
            self._bound(f"caller {caller.name}" if caller is not None else f"address {address}")
            if caller is None:
                detail = "show who you are: an API key in X-API-Key, or a bearer token in Authorization"
                headers = {"WWW-Authenticate": "Bearer"}
                raise ProblemError(HTTPStatus.UNAUTHORIZED, "unauthenticated", detail, headers=headers)
            if not caller.may(scope):
                detail = f"this needs the scope {scope!r}, which you were not granted"
                raise ProblemError(HTTPStatus.FORBIDDEN, "forbidden", detail)
            return caller

        return check

    def _bound(self, caller: str) -> None:
        if self._rate is not None and (seconds := self._rate.wait(caller, time.monotonic())):
            headers = {"Retry-After": str(int(seconds) + 1)}
            detail = "you call too often; wait, and try again"
            raise ProblemError(HTTPStatus.TOO_MANY_REQUESTS, "too-many-requests", detail, headers=headers)
