"""The topic that a stream is read from: its own raw topic, or any topic, whose records the stream's statement reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_wire.headers import TRACEPARENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_core.ids import StreamName
    from graphtide_core.ports.log import Record
    from graphtide_wire.topics import Topics


@dataclass(frozen=True, slots=True)
class SourceTopic:
    """A topic of raw records.

    Attributes:
        name: of the topic.
        is_foreign: whether others write it. Their headers do not say how records are read, and none is a command.
    """

    name: str
    is_foreign: bool = False

    @classmethod
    def of(cls, topics: Topics, stream: StreamName, foreign: str | None = None) -> SourceTopic:
        """Return the topic of a stream: its raw topic, or the foreign one."""
        return cls(topics.raw(stream)) if foreign is None else cls(foreign, is_foreign=True)

    def records(self, given: Iterable[Record]) -> Iterable[Record]:
        """Return the records as they are read."""
        return _without_headers(given) if self.is_foreign else given


def _without_headers(given: Iterable[Record]) -> Iterator[Record]:
    """Yield the records with the header of their trace alone."""
    for record in given:
        headers = tuple(each for each in record.headers if each[0] == TRACEPARENT)
        yield record._replace(headers=headers, flaw="")
