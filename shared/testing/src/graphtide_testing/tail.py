"""What is new in a topic of a log that may be away at times."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_core.errors import TransientError
from graphtide_core.ports.log import TopicPartition
from graphtide_log.follower import to_the_end

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log, Record


@dataclass
class Tail:
    """A topic, read from its beginning on."""

    log: Log
    topic: str
    _next: dict[TopicPartition, int] = field(default_factory=dict)

    def read(self) -> list[Record]:
        """Return what came since the last time, up to the end, or as far as the log answers."""
        found: list[Record] = []
        reader = self.log.reader(None)
        with suppress(TransientError):
            self._next = self._next or dict.fromkeys(reader.partitions(self.topic), 0)
            reader.assign(self._next)
            for record in to_the_end(reader, self.topic):
                found.append(record)
                self._next[TopicPartition(record.topic, record.partition)] = record.offset + 1
        reader.close()
        return found
