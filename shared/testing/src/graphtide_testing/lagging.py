"""A log whose readers notice late that records came behind an end that they found, as a client that fetches by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.ports.log import Log, Record, TopicPartition


class LaggingLog:
    """A log whose readers without a group give nothing for some polls after each end; meanwhile they say that it is the end."""

    def __init__(self, log: Log, polls: int) -> None:
        """Give nothing for so many polls."""
        self._log, self._polls = log, polls

    def reader(self, group: str | None) -> Any:
        """Return a reader that lags, if it has no group."""
        reader = self._log.reader(group)
        return reader if group is not None else _LaggingReader(reader, self._polls)

    def __getattr__(self, name: str) -> Any:
        """Do all else as the log does."""
        return getattr(self._log, name)


class _LaggingReader:
    def __init__(self, of: Any, polls: int) -> None:
        self._of, self._polls, self._left = of, polls, 0

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        self._left = 0
        self._of.assign(positions)

    def poll(self, timeout: float, most: int) -> list[Record]:
        if self._left > 0:
            self._left -= 1
            return []
        found: list[Record] = self._of.poll(timeout, most)
        self._left = self._polls if self._of.at_end() else 0
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)
