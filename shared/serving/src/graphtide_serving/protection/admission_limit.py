"""Memory for bodies of requests: a bound for all of them together, and a smaller one for each caller.

Room is taken for bytes that have come, never for bytes that are announced, so silence takes none.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from graphtide_serving.http import ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE: Final = 5.0
"""Seconds that a request waits for room once some of it was read: to begin anew would cost more."""


class AdmissionLimit:
    """Bytes of bodies that are held; for one event loop."""

    def __init__(self, most_bytes: int, most_bytes_a_caller: int, patience_seconds: float = _PATIENCE) -> None:
        """Start with all of it free."""
        self._most = most_bytes
        self._most_a_caller = most_bytes_a_caller
        self._patience = patience_seconds
        self._taken = 0
        self._of: Counter[str] = Counter()
        self._freed = asyncio.Event()

    @property
    def taken(self) -> int:
        """Bytes that are held."""
        return self._taken

    @contextmanager
    def held(self, caller: str, most_bytes: int) -> Iterator[Held]:
        """Give the hold of a caller's request on the room, of at most so many bytes at once, until the block ends."""
        held = Held(self, caller, most_bytes)
        try:
            yield held
        finally:
            held.give_back(held.size)

    def fits(self, caller: str, own: int, more: int) -> bool:
        """Return whether a request that holds `own` bytes may hold more; alone it always may."""
        alone = self._taken == own or self._taken + more <= self._most
        return alone and (self._of[caller] == own or self._of[caller] + more <= self._most_a_caller)

    def change(self, caller: str, size: int) -> None:
        """Note that a caller holds so many bytes more, or less."""
        self._taken += size
        self._of[caller] += size
        if not self._of[caller]:
            del self._of[caller]
        if size < 0:
            freed, self._freed = self._freed, asyncio.Event()
            freed.set()

    async def wait(self, caller: str, own: int, more: int) -> bool:
        """Return once a request that holds `own` bytes may hold more; False if it may not within the patience."""
        try:
            async with asyncio.timeout(self._patience):
                while not self.fits(caller, own, more):
                    await self._freed.wait()
        except TimeoutError:
            return False
        return True


class Held:
    """The bytes of a room that one request holds.

    Attributes:
        size: in bytes.
    """

    def __init__(self, admission_limit: AdmissionLimit, caller: str, most_bytes: int) -> None:
        """Start without bytes."""
        self.size = 0
        self._room = admission_limit
        self._caller = caller
        self._most = most_bytes
        self._has_begun = False

    async def take(self, size: int) -> None:
        """Hold so many bytes more. Without room, a caller that holds nothing yet is refused at once; else this waits for room.

        Raises:
            ProblemError: the room is taken.
        """
        more = min(size, self._most - self.size)
        fits = self._room.fits(self._caller, self.size, more)
        if not fits and not (self._has_begun and await self._room.wait(self._caller, self.size, more)):
            detail = "too much is under way; come back in a moment"
            raise ProblemError(HTTPStatus.TOO_MANY_REQUESTS, "too-many-requests", detail, headers={"Retry-After": "1"})
        self._has_begun = True
        self.size += more
        self._room.change(self._caller, more)

    def give_back(self, size: int) -> None:
        """Hold so many bytes less, as far as that many are held."""
        less = min(size, self.size)
        self.size -= less
        self._room.change(self._caller, -less)
