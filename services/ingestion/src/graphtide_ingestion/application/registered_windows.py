"""The longest window of the patterns on a stream: how long an id is remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError, PoisonRecordError
from graphtide_query import parse
from graphtide_runtime.follower import Follower
from graphtide_wire import control

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Log, Record
    from graphtide_core.time import TimeUnit


class RegisteredWindows:
    """Follows the registered patterns, of which one that cannot be read counts as none."""

    def __init__(self, log: Log, topic: str, stream: StreamName, unit: TimeUnit) -> None:
        """Read the patterns that there are.

        Raises:
            TransientError: the topic is not there, or does not answer.
        """
        self._stream = stream
        self._unit = unit
        self._windows: dict[bytes, int] = {}
        self._follower = Follower(log, topic)
        self._fold(self._follower.to_the_end())

    def poll(self) -> None:
        """Take what changed."""
        self._fold(self._follower.poll())

    @property
    def longest(self) -> int:
        """Ticks of the longest window; 0 without patterns."""
        return min(max(self._windows.values(), default=0), 2**63 - 1)

    def close(self) -> None:
        """Follow no longer."""
        self._follower.close()

    def _fold(self, records: Iterable[Record]) -> None:
        for record in records:
            key = record.key or b""
            window = self._window(record.value)
            if window is None:
                self._windows.pop(key, None)
            else:
                self._windows[key] = window

    def _window(self, value: bytes | None) -> int | None:
        if value is None:
            return None
        try:
            registered = control.decode_pattern(value)
            patterns = parse(registered.text)
        except (PoisonRecordError, InvalidPatternError, ValueError):
            return None
        if registered.stream != self._stream:
            return None
        return max((pattern.window.ticks_at_least(self._unit) for pattern in patterns), default=None)
