"""HEAD for every route with GET: the answer is that of GET without its body, so routes need no code for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadAsGet:
    """An application that answers HEAD with the status and the headers of GET. A streaming answer is ended at its start."""

    def __init__(self, app: ASGIApp) -> None:
        """Serve an application that knows GET."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        has_ended = False

        async def without_body(message: Message) -> None:
            nonlocal has_ended
            if message["type"] != "http.response.body":
                await send(message)
                return
            if not has_ended:
                has_ended = True
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            if message.get("more_body", False):
                # What a server says to an application whose client has gone: no one reads the rest.
                raise OSError

        try:
            await self._app({**scope, "method": "GET"}, receive, without_body)
        except (ClientDisconnect, OSError):
            if not has_ended:
                raise
