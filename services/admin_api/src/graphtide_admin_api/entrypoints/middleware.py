"""What holds for every request: its body is bounded."""

from __future__ import annotations

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
