"""Requests that a browser sends on behalf of another site are refused.

A web page may let a browser send requests to any address. By DNS rebinding it may call that address by a name of its own, so
that the browser takes it for the page's own site. So a request has to name this service. It does so by an address, by a name
that other sites cannot make lead here, or by one that is configured. And if a browser names the site of the page, that has to
be this one. Programs that are not browsers name no site, and pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from graphtide_serving.http import ProblemError
from graphtide_serving.pages import is_visit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Receive, Scope, Send

_NOT_PUBLIC: Final = (".localhost", ".svc", ".cluster.local")
"""Ends of names that only this machine or its cluster gives out."""

_OWN_SITES: Final = frozenset({"same-origin", "none"})
"""Values of `Sec-Fetch-Site` for requests of this service's own pages, and for addresses that a user typed in."""

_OWN_PORTS: Final = {"http": 80, "https": 443}
_DEFAULT_PORTS: Final = frozenset(_OWN_PORTS.values())

ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class _Authority:
    """A host in lower case, and its port; None for the one that a scheme has anyway."""

    host: str
    port: int | None

    @classmethod
    def of(cls, text: str) -> _Authority | None:
        """Read `host[:port]`; None if it is something else."""
        try:
            parts = urlsplit(f"//{text}")
            host, port = parts.hostname, parts.port
        except ValueError:
            return None
        if not host or parts.netloc != text or "@" in text:
            return None
        return cls(host.removesuffix("."), None if port in _DEFAULT_PORTS else port)


class Hosts:
    """The names under which a service is called."""

    def __init__(self, names: Iterable[str], origins: Iterable[str] = ()) -> None:
        """Accept these host names beside the implied ones, `*` is any; pages of these other sites may call."""
        self._names = frozenset(name.lower().removesuffix(".") for name in names)
        self.origins = frozenset(origins)

    def check(self, headers: Headers, *, visits_page: bool = False) -> None:
        """Do nothing if a request with these headers is meant for this service, and is not another site's.

        Args:
            headers: of the request.
            visits_page: whether a person comes to a page, from where it may be.

        Raises:
            ProblemError: it is not.
        """
        given = headers.get("host")
        called = _Authority.of(given) if given else None
        if given and (called is None or not self._is_own(called.host)):
            detail = f"this service is not called {given[:200]!r}; if it is, add the name to the setting HOSTS"
            raise ProblemError(HTTPStatus.MISDIRECTED_REQUEST, "unknown-host", detail)
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and origin in self.origins:
            return
        is_of_own = site is None or site in _OWN_SITES or visits_page
        if (origin is not None and not self._is_same(origin, called)) or not is_of_own:
            detail = "a browser sends this on behalf of another site"
            raise ProblemError(HTTPStatus.FORBIDDEN, "foreign-origin", detail)

    def _is_own(self, host: str) -> bool:
        if ANY in self._names or host in self._names or "." not in host or host.endswith(_NOT_PUBLIC):
            return True
        try:
            ip_address(host)
        except ValueError:
            return False
        return True

    def _is_same(self, origin: str, called: _Authority | None) -> bool:
        _, _, authority = origin.partition("://")
        from_where = _Authority.of(authority)
        return from_where is not None and (from_where == called or from_where.host in self._names)


def checked_origin(origin: str) -> str:
    """Return an origin as browsers write it: scheme and host in lower case, a port that is not the scheme's own.

    Raises:
        ValueError: it is not an origin, or it is `*`: pages of any site would call in the name of their visitors.
    """
    parts = urlsplit(origin)
    scheme = parts.scheme.lower()
    called = _Authority.of(parts.netloc.lower())
    if scheme not in _OWN_PORTS or called is None or origin.rstrip("/") != f"{origin[: len(scheme)]}://{parts.netloc}":
        message = f"{origin[:200]!r} is not an origin of pages: https://name or https://name:port"
        raise ValueError(message)
    return f"{scheme}://{parts.netloc.lower()}".removesuffix(f":{_OWN_PORTS[scheme]}")


class KnownHosts:
    """An application that gets only requests meant for it."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        """Serve an application under its names."""
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "http":
            try:
                headers = Headers(scope=scope)
                self._hosts.check(headers, visits_page=is_visit(scope, headers))
            except ProblemError as error:
                await error.response()(scope, receive, send)
                return
        await self._app(scope, receive, send)
