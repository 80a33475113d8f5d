"""What users do with patterns."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final, Protocol

from graphtide_core.colliding_topics import refuse_colliding
from graphtide_core.errors import CollidingTopicError, InvalidQueryError, TransientError
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import is_merged, part_in, sources
from graphtide_core.ports.log import TopicPartition
from graphtide_wire.topics import DEFAULT_PARTITIONS

from graphtide_admin_api.domain.placement import Placement, place, placement_of
from graphtide_admin_api.domain.problems import ProblemError, no_pattern
from graphtide_admin_api.domain.registration import (
    Moment,
    PatternRequest,
    apply_change,
    check_match,
    read,
    refuse_if_read,
    register,
    renew,
    without_view,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogReader, TopicSpec
    from graphtide_wire.control import PatternRecord
    from graphtide_wire.topics import Topics

    from graphtide_admin_api.application.registry import Losing, Registry
    from graphtide_admin_api.application.view import View
    from graphtide_admin_api.domain.pattern_status import PatternStatus

    MomentOf = Callable[[str], Moment]
    """Returns when something is registered on a stream."""

    Decide = Callable[[PatternRecord | None, MomentOf], PatternRecord]
    """Returns the next state of a registration. Raises if the change must not be."""

_ANY: Final = "*"
_PAUSES: Final = (0.1, 0.2, 0.4, 0.8)


class MayChange(Protocol):
    """Says what may be changed, and seen meanwhile; `sees_all` is whether all may be seen."""

    sees_all: bool

    def check_new(self, pattern: AnyPattern) -> None:
        """Raise if a pattern may not be registered."""
        ...

    def check_old(self, record: PatternRecord) -> None:
        """Raise if a registration may not be changed or deleted."""
        ...

    def sees(self, record: PatternRecord) -> bool:
        """Whether a message may name a registration."""
        ...


class Patterns:
    """Registers patterns and changes them; safe for threads. All may raise `ProblemError` and `TransientError`.

    Changes look whether they may be made at what they replace, in the transaction that replaces it.
    """

    def __init__(self, log: Log, topics: Topics, clock: Clock, view: View, registry: Registry) -> None:
        """Work on a log."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._view = view
        self._registry = registry

    def get(self, name: str) -> tuple[PatternRecord, PatternStatus]:
        """Return a pattern and its status."""
        record = self._view.pattern(name)
        if record is None:
            raise no_pattern(name)
        return record, self._view.pattern_status(record)

    def register(self, request: PatternRequest, may: MayChange) -> PatternRecord:
        """Register a pattern under a name that is free."""
        pattern = read(request.text or "")
        may.check_new(pattern)

        def change(old: PatternRecord | None, moment_of: MomentOf) -> PatternRecord:
            if old is not None:
                raise ProblemError(409, "exists", f"there is a pattern {old.name!r} already; PUT replaces it")
            placement = self._place(pattern)
            return register(request, self._view.last_version(pattern.name) + 1, moment_of(placement.stream), placement)

        return self._changed(pattern.name, change, may)

    def put(
        self, name: str, request: PatternRequest, if_match: str | None, may: MayChange, *, force: bool = False
    ) -> tuple[PatternRecord, bool]:
        """Register or replace a pattern; options not given become the default. Says whether it is new.

        Where a view goes by that which patterns read, `force` lets these fail; else it is refused, as in `patch` and `delete`.
        """
        pattern = read(request.text or "")
        if pattern.name != name:
            raise ProblemError(422, "name-differs", f"the text is of pattern {pattern.name!r}, not of {name!r}")
        may.check_new(pattern)
        was_there = False

        def change(old: PatternRecord | None, moment_of: MomentOf) -> PatternRecord:
            nonlocal was_there
            was_there = old is not None
            placement = self._place(pattern)
            moment = moment_of(placement.stream)
            fresh = register(request, self._view.last_version(name) + 1, moment, placement)
            if old is None:
                if if_match is not None:
                    raise ProblemError(412, "precondition-failed", f"there is no pattern {name!r} yet")
                return fresh
            check_match(old, if_match)
            whole = PatternRequest(request.text, fresh.limits, fresh.options.engine, fresh.state)
            return apply_change(old, whole, self._next_version(old), moment, placement)

        return self._changed(name, change, may, force=force), not was_there

    def patch(
        self, name: str, request: PatternRequest, if_match: str | None, may: MayChange, *, force: bool = False
    ) -> PatternRecord:
        """Change a part of a pattern."""
        pattern = None if request.text is None else read(request.text)
        if pattern is not None:
            may.check_new(pattern)

        def change(old: PatternRecord | None, moment_of: MomentOf) -> PatternRecord:
            if old is None:
                raise no_pattern(name)
            check_match(old, if_match)
            placement = placement_of(old) if pattern is None else self._place(pattern)
            return apply_change(old, request, self._next_version(old), moment_of(placement.stream), placement)

        return self._changed(name, change, may, force=force)

    def resume(self, name: str, if_match: str | None, may: MayChange) -> PatternRecord:
        """Let a pattern continue; one that a limit ended continues as its next version."""
        record, pattern_status = self.get(name)
        seen = _ANY if if_match is None else if_match
        if record.state == "paused" or not pattern_status.is_ended:
            return self.patch(name, PatternRequest(state="active"), seen, may)

        def change(old: PatternRecord | None, moment_of: MomentOf) -> PatternRecord:
            if old is None:
                raise no_pattern(name)
            check_match(old, seen)
            return renew(old, self._next_version(old), moment_of(record.stream))

        return self._changed(name, change, may)

    def delete(self, name: str, if_match: str | None, may: MayChange, *, force: bool = False) -> None:
        """Delete a pattern; its matches that were reported stay where they are."""

        def change(old: PatternRecord | None) -> None:
            if old is None:
                raise no_pattern(name)
            may.check_old(old)
            check_match(old, if_match)

        self._registry.change(name, change, self._losing(may, force=force))

    def _losing(self, may: MayChange, *, force: bool) -> Losing:
        """Return what becomes of the registrations that read a view which goes: they wait for their users, or it stays."""

        def fail(view: str, reading: Sequence[PatternRecord]) -> list[PatternRecord]:
            for each in reading:
                may.check_old(each)
            now = self._clock.now()
            return [without_view(view, each, now) for each in reading]

        def refuse(view: str, reading: Sequence[PatternRecord]) -> list[PatternRecord]:
            refuse_if_read(view, [each.name for each in reading if may.sees(each)], len(reading))
            return []

        return fail if force else refuse

    def _changed(self, name: str, change: Decide, may: MayChange, *, force: bool = False) -> PatternRecord:
        """Change a registration; topics are made once nothing refuses the change."""

        def refuse(old: PatternRecord | None) -> PatternRecord:
            if old is not None:
                may.check_old(old)
            new = change(old, self._moment_without_topics)
            if new.view is True:
                self._refuse_edges_among(new.name)
                self._refuse_colliding(self._topics.of_view(StreamName(new.name)))
            return new

        def make(old: PatternRecord | None) -> PatternRecord:
            new = change(old, self._moment)
            if new.view is True:
                self._make_stream_of(new.name)
            return new

        try:
            new = self._registry.change(name, make, self._losing(may, force=force), refuse=refuse)
        except ProblemError as error:
            if error.code != "view-circle" or may.sees_all:
                raise
            detail = f"the view {name!r} would read its own stream, through other views"
            raise ProblemError(error.status, error.code, detail) from None
        if new is None:
            raise no_pattern(name)
        return new

    def _place(self, pattern: AnyPattern) -> Placement:
        """Return where a pattern is matched, by the statements of its streams."""
        known = {name: self._view.definition(name) for name in pattern.streams}
        return place(pattern, {name: each for name, each in known.items() if each is not None and each.partition is not None})

    def _next_version(self, old: PatternRecord) -> int:
        return max(old.version, self._view.last_version(old.name)) + 1

    def _make_stream_of(self, view: str) -> None:
        """Make the topics of the stream of a view, which takes no edges from outside.

        One that was made for patterns which read it, and has none, becomes that of the view.

        Raises:
            ProblemError: as `_refuse_edges_among`.
        """
        self._refuse_edges_among(view)
        stream = StreamName(view)
        self._make(self._topics.of_view(stream))
        if (raw := self._topics.raw(stream)) in self._log.admin().topics():
            self._log.admin().delete([raw])

    def _refuse_edges_among(self, view: str) -> None:
        """Do nothing if the stream of a view has no edges from outside.

        Raises:
            ProblemError: edges are, or were, sent to a stream of this name.
        """
        raw = self._topics.raw(StreamName(view))
        if raw in self._log.admin().topics() and self._has_records(raw):
            detail = f"edges are sent to a stream {view!r}: the results of the view would be among them; rename the view"
            raise ProblemError(409, "stream-exists", detail)

    def _make(self, specs: Iterable[TopicSpec]) -> None:
        """Make topics that are not there.

        Raises:
            ProblemError: Kafka would take one for another that is there.
        """
        try:
            self._log.admin().ensure(specs)
        except CollidingTopicError as error:
            raise ProblemError(409, "name-collides", str(error)) from error

    def _is_of_view(self, stream: StreamName, topics: Collection[str]) -> bool:
        """Whether a stream is there that takes no edges from outside, but is not a merged one."""
        has_raw = is_merged(stream) or self._topics.raw(stream) in topics
        return not has_raw and self._topics.ordered(stream) in topics

    def _has_records(self, topic: str) -> bool:
        """Whether a topic has, or had, records."""
        reader = self._log.reader(None)
        try:
            return any(end > 0 for _, end in reader.ends(reader.partitions(topic)).values())
        finally:
            reader.close()

    def _moment_without_topics(self, stream: str) -> Moment:
        """Return the time, and no ends; no topic is made.

        Raises:
            ProblemError: the topics could not be made.
        """
        self._refuse_colliding(self._specs(stream, self._log.admin().topics()))
        return Moment(self._clock.now(), {})

    def _refuse_colliding(self, specs: Iterable[TopicSpec]) -> None:
        """Do nothing if topics can be made, or are there.

        Raises:
            ProblemError: as `_make`.
        """
        try:
            refuse_colliding([spec.name for spec in specs], set(self._log.admin().topics()))
        except CollidingTopicError as error:
            raise ProblemError(409, "name-collides", str(error)) from error

    def _specs(self, stream: str, made: Collection[str]) -> list[TopicSpec]:
        """Return the topics of the stream and of those that it is merged from.

        Raises:
            ProblemError: they cannot be named so.
        """
        name = StreamName(stream)
        names = dict.fromkeys((*sources(name), name))
        try:
            return [spec for each in names if not self._is_of_view(each, made) for spec in self._specs_of(each)]
        except InvalidQueryError as error:
            raise ProblemError(422, "invalid-pattern", str(error)) from error

    def _specs_of(self, stream: StreamName) -> Sequence[TopicSpec]:
        """Return the topics of a stream; a part has as many raw partitions as the whole, whose order it keeps."""
        if (part := part_in(stream)) is None:
            return self._topics.of_stream(stream)
        with closing(self._log.reader(None)) as reader:
            partitions = len(reader.partitions(self._topics.raw(StreamName(part.whole))))
        return self._topics.of_stream(stream, partitions=partitions or DEFAULT_PARTITIONS)

    def _moment(self, stream: str) -> Moment:
        """Return the time, and the ends of the stream and of those that it is merged from; missing topics are made.

        Asked for within a change: a stream that is deleted before begins at 0 again.
        """
        name = StreamName(stream)
        self._make(self._specs(stream, self._log.admin().topics()))
        places = {each: TopicPartition(self._topics.ordered(each), 0) for each in dict.fromkeys((*sources(name), name))}
        reader = self._log.reader(None)
        try:
            # A topic that was just made may need a moment to find its leader.
            for seconds in _PAUSES:
                try:
                    return self._ends(reader, places)
                except TransientError:
                    self._clock.sleep(seconds)
            return self._ends(reader, places)
        finally:
            reader.close()

    def _ends(self, reader: LogReader, places: Mapping[StreamName, TopicPartition]) -> Moment:
        ends = reader.ends(places.values())
        return Moment(self._clock.now(), {name: ends[place][1] for name, place in places.items()})
