"""A clock that moves only when a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class ManualClock:
    """A `Clock` for tests."""

    def __init__(self) -> None:
        """Start at an instant that every test knows."""
        self._seconds = 0.0

    def now(self) -> datetime:
        """Return the time of day, in UTC."""
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        """Return seconds since the start."""
        return self._seconds

    def sleep(self, seconds: float) -> None:
        """Let so much time pass, at once."""
        self._seconds += seconds
