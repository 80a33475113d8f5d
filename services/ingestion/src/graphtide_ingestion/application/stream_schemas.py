"""The schemas of streams, followed all the time; what edges show is added to them."""

from __future__ import annotations

from dataclasses import replace
from threading import Condition
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.errors import PoisonRecordError, TransientError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message
from graphtide_log.follower import Follower
from graphtide_log.registered_lookbacks import RegisteredLookbacks
from graphtide_serving.opened import close_all, open_worker
from graphtide_telemetry import events
from graphtide_wire import stream_schema
from graphtide_wire.stream_schema import MOST_ATTRIBUTES, SchemaRecord, merge

from graphtide_ingestion.domain.stream_types import StreamTypes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.ports.log import Log, Record
    from graphtide_wire.stream_schema import Kind
    from graphtide_wire.topics import Topics

_LOG = structlog.get_logger()
_WAIT_SECONDS: Final = 0.2


class StreamSchemas:
    """A `Worker` that knows what attributes of streams are; safe for threads.

    Until all earlier records were read the answer is "not known yet": edges must not slip past a declaration.
    """

    def __init__(self, log: Log, topics: Topics) -> None:
        """Prepare; nothing is opened yet."""
        self._log = log
        self._topics = topics
        self._changed = Condition()
        self._known: dict[str, StreamTypes] | None = None
        self._follower: Follower | None = None
        self._lookbacks: RegisteredLookbacks | None = None
        self._full: set[str] = set()

    @property
    def name(self) -> str:
        """What logs call it."""
        return "schemas"

    @property
    def is_whole(self) -> bool:
        """Whether all that was there at the start was read."""
        return self._known is not None

    def wait(self, seconds: float) -> None:
        """Wait until it is, at most for so long."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_whole, seconds)

    def of(self, stream: str) -> StreamTypes:
        """Return what is known of a stream.

        Raises:
            TransientError: the schemas are being read.
        """
        with self._changed:
            if self._known is None:
                message = "schemas of streams are being read; try again in a moment"
                raise TransientError(message)
            return replace(self._known.get(stream, StreamTypes()), read=self._read(stream))

    def seen(self, stream: str, attributes: Mapping[str, Kind]) -> list[Message]:
        """Add what edges showed; return what is to be written because of it."""
        with self._changed:
            if self._known is None:
                return []
            types = self._known.get(stream, StreamTypes())
            together = merge(types.seen, attributes, self._read(stream))
            if len(attributes.keys() - together.keys()) and stream not in self._full:
                self._full.add(stream)
                _LOG.warning(events.ATTRIBUTES_LEFT_OUT, stream=stream, most=MOST_ATTRIBUTES, names=len(attributes))
            if together == types.seen:
                return []
            self._known[stream] = StreamTypes(types.declared, together)
        record = SchemaRecord(stream, "seen", together)
        return [Message(self._topics.schemas, stream_schema.schema_key(stream, "seen"), stream_schema.encode_schema(record))]

    def open(self) -> None:
        """Read all that is there.

        Raises:
            TransientError: the log does not answer.
        """
        self._log.admin().ensure(self._topics.of_deployment())
        self._follower = Follower(self._log, self._topics.schemas)
        lookbacks = RegisteredLookbacks(self._log, self._topics.patterns)
        known: dict[str, StreamTypes] = {}
        for record in self._follower.to_the_end():
            self._take(known, record)
        with self._changed:
            self._known, self._lookbacks = known, lookbacks
            self._changed.notify_all()

    def step(self) -> None:
        """Take what is new."""
        follower, lookbacks = open_worker(self._follower, self.name), open_worker(self._lookbacks, self.name)
        with self._changed:
            lookbacks.poll()
        for record in follower.poll(_WAIT_SECONDS):
            with self._changed:
                self._take(self._known if self._known is not None else {}, record)

    def close(self) -> None:
        """Give back the reader; what was read stays."""
        close_all([self._follower, self._lookbacks])
        self._follower = self._lookbacks = None

    def _read(self, stream: str) -> frozenset[str]:
        return frozenset() if self._lookbacks is None else self._lookbacks.attributes(StreamName(stream))

    def _take(self, known: dict[str, StreamTypes], record: Record) -> None:
        reported = stream_schema.source_of(record.key)
        if reported is None:
            return
        stream, source = reported
        types = known.get(stream, StreamTypes())
        attributes: dict[str, Kind] = {}
        if record.value is not None:
            try:
                attributes = stream_schema.decode_schema(record.key, record.value).attributes
            except PoisonRecordError as error:
                _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)
                return
        if source == "declared":
            known[stream] = StreamTypes(attributes, types.seen)
        else:
            # Another instance may not have seen yet what this one has.
            known[stream] = StreamTypes(types.declared, merge(types.seen, attributes, self._read(stream)) if attributes else {})
