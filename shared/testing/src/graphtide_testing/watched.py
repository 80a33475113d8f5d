"""A log that notes which records are read of a topic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.ports.log import Record


@dataclass
class WatchedLog:
    """A log; what its readers read of a topic.

    Attributes:
        of: the log.
        topic: which is watched.
        read: offsets, in the order of reading.
    """

    of: Any
    topic: str
    read: list[int] = field(default_factory=list)

    def reader(self, group: str | None) -> Any:
        """Return a reader that is watched."""
        return _WatchedReader(self, self.of.reader(group))

    def __getattr__(self, name: str) -> Any:
        """Return what the log has of this name."""
        return getattr(self.of, name)


@dataclass
class _WatchedReader:
    by: WatchedLog
    of: Any

    def poll(self, seconds: float, most: int) -> Sequence[Record]:
        """Read, and note what."""
        records: Sequence[Record] = self.of.poll(seconds, most)
        self.by.read += [record.offset for record in records if record.topic == self.by.topic]
        return records

    def __getattr__(self, name: str) -> Any:
        """Return what the reader has of this name."""
        return getattr(self.of, name)
