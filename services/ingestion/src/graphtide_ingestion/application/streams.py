"""The streams of a deployment, as the topics of the log have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidQueryError
from graphtide_core.ids import StreamName
from graphtide_wire.topics import check_stream

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log
    from graphtide_wire.topics import Topics


class UnknownStreamError(InvalidQueryError):
    """There is no such stream, and none is made for who asks."""


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How topics of a new stream are made, and whether edges make one.

    Attributes:
        partitions: of the raw topic.
        retention_ms: how long records are kept; None for ever.
        made_by_edges: whether a stream that is not there is made when edges for it come.
    """

    partitions: int = 4
    retention_ms: int | None = None
    made_by_edges: bool = False


class Streams:
    """Knows and makes streams. Calls of the log may take long."""

    def __init__(self, log: Log, topics: Topics, options: StreamOptions) -> None:
        """Start with no stream known."""
        self._log = log
        self._topics = topics
        self._options = options
        self._known: frozenset[str] = frozenset()

    def knows(self, name: str) -> bool:
        """Whether the stream is there, as far as is known without asking the log."""
        return name in self._known

    def look(self) -> frozenset[str]:
        """Return the streams that there are.

        Raises:
            TransientError: the log does not answer.
        """
        found = (name for topic in self._log.admin().topics() if (name := self._topics.stream_of(topic)) is not None)
        self._known = frozenset(found)
        return self._known

    def make(self, name: str) -> None:
        """Make the stream's topics, as far as they are not there.

        Raises:
            InvalidQueryError: the name is no stream's.
            TransientError: the log does not answer.
        """
        check_stream(name)
        options = self._options
        specs = self._topics.of_stream(StreamName(name), partitions=options.partitions, retention_ms=options.retention_ms)
        self._log.admin().ensure(specs)
        self._known |= {name}

    def find(self, name: str) -> None:
        """Do nothing if edges may be sent to the stream; make it if that is how it is set.

        Raises:
            InvalidQueryError: the name is no stream's.
            UnknownStreamError: there is no such stream.
            TransientError: the log does not answer.
        """
        check_stream(name)
        if name in self._known or name in self.look():
            return
        if not self._options.made_by_edges:
            message = f"there is no stream {name!r}"
            raise UnknownStreamError(message)
        self.make(name)
