"""What holds for every request: its body is bounded, and it is counted."""

from __future__ import annotations

from collections import Counter
from threading import Lock
from typing import TYPE_CHECKING

from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.entrypoints.problems import answer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BoundedBody:
    """Reads the body before anything else does, and refuses one that is too large."""

    def __init__(self, app: ASGIApp, most_bytes: int) -> None:
        """Bound the bodies of an application."""
        self._app = app
        self._most = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD", "DELETE"}:
            await self._app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        body, more = bytearray(), not (declared.isdigit() and int(declared) > self._most)
        is_whole = more
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            is_whole = len(body) <= self._most
            more = message.get("more_body", False) and is_whole
        if not is_whole:
            problem = ProblemError(413, "too-large", f"the body has more than {self._most} bytes")
            await answer(problem)(scope, receive, send)
            return
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": bytes(body), "more_body": False}

        await self._app(scope, replay, send)


class Counts:
    """Counts answers by route and status; safe for threads."""

    def __init__(self) -> None:
        """Start with none."""
        self._counts: Counter[tuple[str, str, int]] = Counter()
        self._lock = Lock()

    def add(self, method: str, route: str, status: int) -> None:
        """Count an answer."""
        with self._lock:
            self._counts[method, route, status] += 1

    def lines(self) -> list[str]:
        """Return the counts in the text format of Prometheus."""
        with self._lock:
            found = sorted(self._counts.items())
        name = "graphtide_admin_api_requests_total"
        return [
            f"# HELP {name} Requests answered.",
            f"# TYPE {name} counter",
            *(
                f'{name}{{method="{method}",route="{route}",status="{status}"}} {count}'
                for (method, route, status), count in found
            ),
        ]


class Counted:
    """Counts the answers of an application; what has no route counts as one."""

    def __init__(self, app: ASGIApp, counts: Counts) -> None:
        """Count into these."""
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                # Methods and routes that nobody defined must not become labels.
                route = getattr(scope.get("route"), "path", "")
                self._counts.add(scope["method"] if route else "", route, message["status"])
            await send(message)

        await self._app(scope, receive, note)
