"""Matches and partial matches as server-sent events: so many streams at once, and a share of them a caller."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Query
from fastapi.responses import StreamingResponse
from graphtide_core.errors import TransientError
from graphtide_serving.access.guard import caller_of
from pydantic.json_schema import SkipJsonSchema
from starlette.concurrency import run_in_threadpool

from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.entrypoints.problems import answer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from starlette.types import Receive, Scope, Send

    from graphtide_admin_api.application.following import Follows

_PAUSE_SECONDS: Final = 0.1

TicketQuery = Annotated[str | SkipJsonSchema[None], Query(description="A ticket, for clients that can send no header.")]

BY_TICKET: Final[dict[str, Any]] = {"security": [{"Ticket": []}]}
"""What the description adds to the ways a caller shows who it is."""


class EventStreams:
    """Counts the streams of events that are open, and bounds them; for one event loop."""

    def __init__(self, most: int, most_a_caller: int, heartbeat_seconds: float) -> None:
        """Allow so many at once, and so many of one caller."""
        self._most = most
        self._most_a_caller = most_a_caller
        self._heartbeat = heartbeat_seconds
        self._open: Counter[str] = Counter()

    @contextmanager
    def seat(self, caller: str) -> Iterator[None]:
        """Count one more stream of a caller while the block runs.

        Raises:
            ProblemError: there are too many.
        """
        if self._open.total() >= self._most:
            raise _too_many(self._most, "in all")
        if self._open[caller] >= self._most_a_caller:
            raise _too_many(self._most_a_caller, "of yours")
        self._open[caller] += 1
        try:
            yield
        finally:
            self._open[caller] -= 1
            if not self._open[caller]:
                del self._open[caller]

    async def events(self, following: Follows, kind: str = "match") -> AsyncGenerator[bytes]:
        """Yield the events of what is followed, of one kind, and a comment now and then where there are none.

        It ends where the log does not answer: the client comes back to the place where it was.
        """
        yield b"retry: 1000\n\n"
        emitted = time.monotonic()
        while True:
            try:
                found = await run_in_threadpool(following.take)
            except TransientError:
                return
            for each in found:
                yield f"id: {each.place}\nevent: {kind}\ndata: ".encode() + each.body + b"\n\n"
            now = time.monotonic()
            if found:
                emitted = now
            elif now - emitted >= self._heartbeat:
                emitted = now
                yield b": nothing new\n\n"
            if not found:
                await asyncio.sleep(_PAUSE_SECONDS)


class EventsResponse(StreamingResponse):
    """An answer of events; it takes its seat when it begins, and gives it back however it ends."""

    media_type = "text/event-stream"

    def __init__(self, streams: EventStreams, following: Follows, kind: str = "match") -> None:
        """Prepare; nothing is sent yet."""
        super().__init__(streams.events(following, kind), headers={"Cache-Control": "no-store"})
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client goes, or a problem where there is no seat."""
        caller = caller_of(scope)
        try:
            with self._streams.seat(caller.name if caller is not None else ""):
                await super().__call__(scope, receive, send)
        except ProblemError as problem:
            await answer(problem)(scope, receive, send)


def _too_many(most: int, whose: str) -> ProblemError:
    detail = f"{most} streams of events {whose} are open already"
    return ProblemError(429, "too-many-streams", detail, headers={"Retry-After": "30"})
