"""How busy a host is: the share of its time that it does not wait for records.

A wait for a commit of the log counts as work, since the host does nothing else meanwhile. Commits cost the same for few and for
many edges. So a host that is half busy can mostly take more than twice as many edges: the share is an upper bound.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.clock import Clock


class Occupancy:
    """The share of a thread's time that it worked, since the last call of `taken`."""

    def __init__(self, clock: Clock) -> None:
        """Begin now."""
        self._clock = clock
        self._since = clock.monotonic()
        self._waited = 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the block as idle time."""
        begun = self._clock.monotonic()
        try:
            yield
        finally:
            self._waited += self._clock.monotonic() - begun

    def taken(self) -> float:
        """Return the busy share of the time since the call before, from 0 to 1; begin anew."""
        now = self._clock.monotonic()
        passed, waited = now - self._since, self._waited
        self._since, self._waited = now, 0.0
        return min(1.0, max(0.0, (passed - waited) / passed)) if passed > 0 else 0.0
