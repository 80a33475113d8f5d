"""A timer of the work that waits to be committed: workers let it wait for more, for so long and no longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphtide_core.ports.clock import Clock


class CommitTimer:
    """Stands still until it is started; counts from the first start on."""

    def __init__(self, clock: Clock) -> None:
        """Stand still."""
        self._clock = clock
        self._since: float | None = None

    @property
    def runs(self) -> bool:
        """Whether work waits."""
        return self._since is not None

    def start(self) -> None:
        """Note that work waits from now on, if none did."""
        if self._since is None:
            self._since = self._clock.monotonic()

    def stop(self) -> None:
        """Note that none waits."""
        self._since = None

    def has_run(self, seconds: float) -> bool:
        """Whether work waits for so long."""
        return self._since is not None and self._clock.monotonic() - self._since >= seconds

    def left(self, seconds: float, most: float) -> float:
        """Return how many seconds there are until work has waited for so long; `most` at most, and if none waits."""
        if self._since is None:
            return most
        return max(0.0, min(most, self._since + seconds - self._clock.monotonic()))
