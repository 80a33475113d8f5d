"""Matches as server-sent events."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool

from graphtide_admin_api.domain.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from graphtide_admin_api.application.following import Following

_PAUSE_SECONDS: Final = 0.1


class EventStreams:
    """Counts the streams of events that are open, and bounds them."""

    def __init__(self, most: int, heartbeat_seconds: float) -> None:
        """Allow so many at once."""
        self._most = most
        self._heartbeat = heartbeat_seconds
        self._open = 0

    def check(self) -> None:
        """Do nothing if one more may be opened.

        Raises:
            ProblemError: there are too many.
        """
        if self._open >= self._most:
            detail = f"{self._most} streams of events are open already"
            raise ProblemError(429, "too-many-streams", detail, headers={"Retry-After": "30"})

    async def events(self, following: Following) -> AsyncGenerator[bytes]:
        """Yield the events of what is followed, and a comment now and then where there are none; it never ends by itself."""
        self._open += 1
        try:
            yield b"retry: 1000\n\n"
            told = time.monotonic()
            while True:
                found = await run_in_threadpool(following.take)
                for match in found:
                    yield f"id: {match.place}\nevent: match\ndata: ".encode() + match.body + b"\n\n"
                now = time.monotonic()
                if found:
                    told = now
                elif now - told >= self._heartbeat:
                    told = now
                    yield b": nothing new\n\n"
                if not found:
                    await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            self._open -= 1
