"""Read bodies of requests within bounds: bytes count against the admission limit, and slow senders get an error."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from graphtide_serving.access.guard import caller_of
from graphtide_serving.http import ProblemError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from graphtide_serving.protection.admission_limit import AdmissionLimit, Held


@dataclass(frozen=True, slots=True)
class Pace:
    """How slowly a body may come.

    Attributes:
        idle_seconds: without a byte.
        grace_seconds: that may be spent waiting for bytes before the rate counts.
        least_bytes_per_second: of those seconds, on average.
    """

    idle_seconds: float = 10.0
    grace_seconds: float = 30.0
    least_bytes_per_second: float = 1024.0


class BoundedBodies:
    """An application that reads bodies within bounds: its `receive` raises a `ProblemError` past them.

    It finds the request's part of the room by `held_by`, and may release sooner what it does not hold any more.
    """

    def __init__(self, app: ASGIApp, admission_limit: AdmissionLimit, most_held_bytes: int, pace: Pace) -> None:
        """Bound an application that holds at most so many bytes of a body at once."""
        self._app = app
        self._room = admission_limit
        self._most_held = most_held_bytes
        self._pace = pace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        caller = caller_of(scope)
        with self._room.held(caller.name if caller is not None else "", self._most_held) as held:
            scope.setdefault("state", {})["held"] = held
            body = _Body(receive, send, held, self._pace)
            await self._app(scope, body.receive, body.send)


class _Body:
    """One body that comes in; bounds hold until it is complete, or its answer begins."""

    def __init__(self, receive: Receive, send: Send, held: Held, pace: Pace) -> None:
        self._receive = receive
        self._send = send
        self._held = held
        self._pace = pace
        self._is_over = False
        self._bytes = 0
        self._seconds = 0.0

    async def send(self, message: Message) -> None:
        self._is_over = True
        await self._send(message)

    async def receive(self) -> Message:
        if self._is_over:
            return await self._receive()
        begun = time.monotonic()
        try:
            async with asyncio.timeout(self._pace.idle_seconds):
                message = await self._receive()
        except TimeoutError as error:
            raise _too_slow() from error
        self._is_over = not message.get("more_body", False)
        self._seconds += time.monotonic() - begun
        size = len(message.get("body", b""))
        self._bytes += size
        waited, least = self._seconds, self._pace.least_bytes_per_second
        if not self._is_over and waited > self._pace.grace_seconds and self._bytes < waited * least:
            raise _too_slow()
        if size:
            await self._held.take(size)
        return message


class WholeBodies:
    """An application that gets each body as a whole, and none above its bound."""

    def __init__(self, app: ASGIApp, most_bytes: int) -> None:
        """Take bodies up to a size."""
        self._app = app
        self._most = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD", "DELETE"}:
            await self._app(scope, receive, send)
            return
        try:
            body = await self._whole(scope, receive)
        except ProblemError as error:
            await error.response()(scope, receive, send)
            return
        if body is None:
            return
        given: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return given.pop() if given else await receive()

        await self._app(scope, replay, send)

    async def _whole(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the body; None if the client no longer waits for the answer.

        Raises:
            ProblemError: it is too large, or does not come as it should.
        """
        declared = dict(scope["headers"]).get(b"content-length", b"")
        if declared.isdigit() and int(declared) > self._most:
            raise self._too_large()
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            if len(body) > self._most:
                raise self._too_large()
            more = message.get("more_body", False)
        return bytes(body)

    def _too_large(self) -> ProblemError:
        detail = f"the body has more than {self._most} bytes"
        return ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large", detail)


def held_by(scope: Scope) -> Held:
    """Return a request's part of the room for bodies."""
    held: Held = scope["state"]["held"]
    return held


def _too_slow() -> ProblemError:
    detail = "the body comes too slowly; send it again, faster or in parts"
    return ProblemError(HTTPStatus.REQUEST_TIMEOUT, "slow-body", detail)
