"""The streams of a deployment, as the topics of the log have them."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from graphtide_core.colliding_topics import refuse_colliding
from graphtide_core.errors import CollidingTopicError, InvalidQueryError
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import is_merged
from graphtide_wire.topics import check_stream

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ports.log import Log
    from graphtide_wire.topics import Topics


_MOST_SIMILAR: Final = 3


class UnknownStreamError(InvalidQueryError):
    """There is no such stream, and none is made for this caller."""


class DerivedStreamError(InvalidQueryError):
    """The stream's edges follow from other streams: it takes none from outside."""


@dataclass(frozen=True, slots=True)
class MadeStream:
    """A stream that is made for edges, with the first that can be used.

    Attributes:
        similar: streams that were there and are called much the same, the most similar first: one of them may be meant.
    """

    similar: tuple[str, ...]


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
        self._known: frozenset[StreamName] = frozenset()
        self._derived: frozenset[StreamName] = frozenset()

    def knows(self, name: str) -> bool:
        """Whether the stream is there, as far as is known without asking the log."""
        return name in self._known

    def look(self) -> frozenset[StreamName]:
        """Return the streams that edges can be sent to.

        Raises:
            TransientError: the log does not answer.
        """
        topics = self._log.admin().topics()
        found = {StreamName(name) for topic in topics if (name := self._topics.stream_of(topic)) is not None}
        self._known = self._topics.accepting(topics)
        self._derived = frozenset(name for name in found - self._known if self._topics.ordered(name) in topics)
        return self._known

    def make(self, name: str) -> None:
        """Make the stream's topics, as far as they are not there.

        Raises:
            InvalidQueryError: the name is not a stream's.
            DerivedStreamError: there is a stream of that name whose edges follow from others.
            CollidingTopicError: a topic of it would equal another's except for dots and underscores; none is made.
            TransientError: the log does not answer.
        """
        check_stream(name)
        self.look()
        self._refuse_derived(name)
        options, admin = self._options, self._log.admin()
        raw, *others = specs = self._topics.of_stream(
            StreamName(name), partitions=options.partitions, retention_ms=options.retention_ms
        )
        refuse_colliding([spec.name for spec in specs], set(admin.topics()))
        # The raw topic first: without it, the others would be those of a derived stream.
        admin.ensure([raw])
        admin.ensure(others)
        self._known |= {StreamName(name)}

    def make_all(self, names: Iterable[str]) -> dict[str, str]:
        """Make streams; return why some cannot be made, by their names.

        Raises:
            InvalidQueryError: a name is not a stream's.
            TransientError: the log does not answer.
        """
        unmade: dict[str, str] = {}
        for name in names:
            try:
                self.make(name)
            except (DerivedStreamError, CollidingTopicError) as error:
                unmade[name] = str(error)
        return unmade

    def forget(self, name: str) -> None:
        """Look for a stream before it is used again: it may have been deleted."""
        self._known -= {name}

    def require(self, name: str) -> None:
        """Do nothing if there is such a stream.

        Raises:
            InvalidQueryError: the name is not a stream's.
            UnknownStreamError: there is none; the error names one that may be meant.
            DerivedStreamError: there is one, whose edges follow from others.
            TransientError: the log does not answer.
        """
        if not is_merged(name):
            check_stream(name)
        if name not in self._known and name not in self.look():
            self._refuse_derived(name)
            check_stream(name)
            similar = self._similar(name)
            hint = f"; did you mean {similar[0]}?" if similar else ""
            message = f"there is no stream {name!r}{hint}"
            raise UnknownStreamError(message)

    def find(self, name: str) -> MadeStream | None:
        """Return nothing if edges may be sent to the stream; what to say of it if edges make it and it is not there yet.

        Raises:
            InvalidQueryError: the name is not a stream's.
            UnknownStreamError: there is no such stream.
            DerivedStreamError: there is one, whose edges follow from others.
            TransientError: the log does not answer.
        """
        try:
            self.require(name)
        except UnknownStreamError:
            if not self._options.made_by_edges:
                raise
            return MadeStream(self._similar(name))
        return None

    def _refuse_derived(self, name: str) -> None:
        if name in self._derived:
            message = f"stream {name!r} takes no edges: what is in it follows from other streams"
            raise DerivedStreamError(message)

    def _similar(self, name: str) -> tuple[str, ...]:
        return tuple(get_close_matches(name, sorted(self._known), n=_MOST_SIMILAR))
