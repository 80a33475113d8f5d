"""Work that is done once for an idempotency key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from graphtide_ingestion.application.answers import Answers

Answer = TypeVar("Answer")


class IdempotentAnswers(Generic[Answer]):
    """Knows what was done; all calls in one event loop."""

    def __init__(self, answers: Answers[asyncio.Future[Answer]]) -> None:
        """Remember answers here."""
        self._answers = answers

    async def do(self, key: Hashable, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """Do the work unless it was done for this key; meanwhile all get the same answer; after a failure the next tries."""
        first = self._answers.get(key)
        if first is not None:
            return await asyncio.shield(first)
        begun = asyncio.ensure_future(work())
        self._answers.put(key, begun)
        try:
            return await begun
        except BaseException:
            self._answers.drop(key)
            raise
