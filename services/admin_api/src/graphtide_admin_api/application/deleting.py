"""Deleting streams that no pattern reads any more."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

import structlog
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import is_merged, logical_stream, sources, whole_of
from graphtide_core.ports.log import Message
from graphtide_ordering.progress_reports import divider_of, sequencer_of
from graphtide_telemetry import events
from graphtide_wire.stream_schema import SOURCES, schema_key
from graphtide_wire.stream_statement import statement_key, version_key

from graphtide_admin_api.domain.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.ports.log import Log
    from graphtide_wire.topics import Topics

    from graphtide_admin_api.application.operations import Operations
    from graphtide_admin_api.application.registry import Registry
    from graphtide_admin_api.application.view import View

_LOG = structlog.get_logger()
_FLUSH_SECONDS: Final = 10.0
_MOST_NAMED: Final = 10


class Deleting:
    """Deletes streams; safe for threads."""

    def __init__(self, log: Log, topics: Topics, view: View, registry: Registry, operations: Operations) -> None:
        """Work on a log."""
        self._log = log
        self._topics = topics
        self._view = view
        self._registry = registry
        self._operations = operations

    def delete(self, name: str) -> None:
        """Delete a stream: its edges, its dead letters, positions in them, and its statistics, schema and statement.

        Streams that it was merged to go with it: their merger would find another stream under the name. Reported matches stay.
        Where it breaks off, the rest is deleted by another call. A registration of this process waits for it; one of another
        process that comes in between makes the stream anew.

        Raises:
            ProblemError: there is no such stream, or patterns or backfills read it.
            TransientError: the log does not answer.
        """
        stream = StreamName(name)

        def unless_read(patterns: list[str]) -> None:
            topics = self._log.admin().topics()
            going = [stream, *self._merged_of(stream, topics)]
            self._refuse_if_read(name, patterns, going)
            there = {topic for topic in topics if self._topics.stream_of(topic) in going}
            if not there and self._view.statistics(name) is None:
                raise ProblemError(404, "not-found", f"there is no stream {name!r}")
            for each in going:
                self._shut_out(sequencer_of(self._topics, each))
            for number in range(self._raw_partitions(stream)):
                self._shut_out(divider_of(self._topics, stream, number))
            self._log.admin().delete(sorted(there))
            for each in going:
                self._forget(each)

        self._registry.exclusively(name, unless_read)
        _LOG.info(events.STREAM_DELETED, stream=name)

    def _merged_of(self, stream: StreamName, topics: Iterable[str]) -> list[StreamName]:
        """Return the parts of a stream, and the merged streams that consist of it or of its parts, among others."""
        found = {StreamName(name) for topic in topics if (name := self._topics.stream_of(topic)) is not None}
        return sorted(name for name in found if name != stream and stream in map(whole_of, sources(name)))

    def _refuse_if_read(self, name: str, patterns: list[str], going: Sequence[StreamName]) -> None:
        of_its_name = self._view.pattern(name)
        if of_its_name is not None and of_its_name.view is True:
            detail = f"stream {name!r} has the results of the view of this name: delete the view first"
            raise ProblemError(409, "stream-in-use", detail, extra={"patterns": [name]})
        if patterns:
            named = ", ".join(patterns[:_MOST_NAMED]) + (" and others" if len(patterns) > _MOST_NAMED else "")
            reads = "pattern {} reads" if len(patterns) == 1 else "patterns {} read"
            detail = f"{reads.format(named)} stream {name!r}: delete what reads it first"
            raise ProblemError(409, "stream-in-use", detail, extra={"patterns": patterns})
        for each in self._operations.all():
            streams = logical_stream(StreamName(each.asked.stream)).split(".")
            if name in streams and each.state in {"queued", "running", "cancelling"}:
                detail = f"the backfill {each.asked.id} reads stream {name!r}: cancel it, or wait for its end"
                raise ProblemError(409, "stream-in-use", detail)
        if any(self._view.planned_on(each) for each in going):
            detail = f"patterns of stream {name!r} were deleted a moment ago and are being stopped; try again"
            raise ProblemError(409, "stream-in-use", detail, headers={"Retry-After": "1"})

    def _raw_partitions(self, stream: StreamName) -> int:
        if is_merged(stream):
            return 0
        with closing(self._log.reader(None)) as reader:
            return len(reader.partitions(self._topics.raw(stream)))

    def _shut_out(self, id: str) -> None:
        """Take the id of a sequencer or a divider: none of its open records can go out to a later stream of the same name."""
        transactor = self._log.transactor(id)
        try:
            transactor.open()
        finally:
            transactor.close()

    def _forget(self, stream: StreamName) -> None:
        schemas = [Message(self._topics.schemas, schema_key(stream, source), None) for source in SOURCES]
        versions = range(1, self._view.last_statement(stream) + 1)
        keys = (statement_key(stream), *(version_key(stream, version) for version in versions))
        statements = [Message(self._topics.statements, key, None) for key in keys]
        writer = self._log.writer()
        try:
            writer.write([Message(self._topics.statistics, stream.encode(), None), *schemas, *statements])
            writer.flush(_FLUSH_SECONDS)
        finally:
            writer.close()
