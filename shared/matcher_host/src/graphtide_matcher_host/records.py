"""The records of a host in their wire forms: it reads plans, and writes matches and statuses of plans."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.any_pattern import ordered_stream
from graphtide_core.consumption import ConsumptionCursor
from graphtide_core.errors import InvalidQueryError, PoisonRecordError
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.merged_streams import logical_stream, part_in, whole_of
from graphtide_core.ports.log import Message
from graphtide_core.time import TimeUnit
from graphtide_native.spec import Limits
from graphtide_ordering.faults import reason_of
from graphtide_query import parse
from graphtide_query.families import family_of
from graphtide_query.reads import match_lookback, reads_of
from graphtide_wire import control, dead_letters, headers
from graphtide_wire import hosts as host_records
from graphtide_wire import matches as match_events
from graphtide_wire.dead_letters import DeadLetterRecord, ErrorCode, Source
from graphtide_wire.plans import plan_of
from graphtide_wire.topics import MOST_ORDERED_BYTES, check_ordered

from graphtide_matcher_host import tracing
from graphtide_matcher_host.assignment import Assignment, PlanStatus, Refusal, State
from graphtide_matcher_host.faults import PlanFaultError
from graphtide_matcher_host.ownership import Ownership

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Record, TopicSpec
    from graphtide_native.match_batch import EncodedMatch
    from graphtide_native.reports import PatternReport
    from graphtide_wire.ordered import OrderedHeader
    from graphtide_wire.topics import Topics

_LONGEST_REASON: Final = 1_000
_DESIRED: Final = {"running": State.RUNNING, "paused": State.PAUSED, "stopped": State.STOPPED}
_SAID: Final = {state.value: state for state in State}


@dataclass(frozen=True, slots=True)
class HostRecords:
    """Topics and codecs, as one shard of a service sees them."""

    topics: Topics
    service: str
    shard: int
    clock: Clock

    @property
    def group(self) -> str:
        """The group whose positions the host commits; also its transactional id."""
        return self._group(control.HostName(self.service, self.shard))

    @property
    def plans(self) -> str:
        """Topic of plans."""
        return self.topics.plans

    @property
    def status(self) -> str:
        """Topic of the statuses of plans."""
        return self.topics.status

    @property
    def hosts(self) -> str:
        """Topic of the costs of hosts."""
        return self.topics.hosts

    def ordered(self, stream: StreamName) -> str:
        """Topic of a stream's ordered edges."""
        return self.topics.ordered(stream)

    def topics_of(self, stream: StreamName) -> Sequence[TopicSpec]:
        """Return the topics that a stream needs."""
        return self.topics.of_stream(stream)

    def stream_of(self, record: Record) -> StreamName:
        """Return the stream that an ordered record is of."""
        return StreamName(self.topics.stream_of(record.topic) or "")

    def name_of(self, record: Record) -> PatternName:
        """Return the pattern that a plan is of."""
        return PatternName((record.key or b"").decode(errors="replace"))

    def assignment(self, record: Record) -> Assignment | None:
        """Return the plan, if this shard is to run it.

        Raises:
            PoisonRecordError: it is for this shard, as far as can be read, and cannot be run. It is of a later format, damaged,
                or of a wrong pattern or name.
        """
        if record.value is None:
            return None
        plan = control.decode_plan(record.value)
        if (plan.service, plan.shard) != (self.service, self.shard):
            return None
        if isinstance(plan, control.PlanHead):
            reason = f"the plan has format {plan.format}, this host knows {control.PLAN_FORMAT}: bring the host up to date"
            raise PoisonRecordError(reason, record.value)
        try:
            (pattern,) = parse(plan.pattern.text)
            reads = reads_of(pattern)
            stream = StreamName(plan.stream) if isinstance(plan.stream, str) else ordered_stream(pattern)
            check_ordered(stream)
        except (InvalidQueryError, ValueError) as error:
            reason = f"the plan's pattern: {error}"
            raise PoisonRecordError(reason, record.value) from error
        if plan.name != self.name_of(record) or pattern.name != whole_of(plan.name):
            reason = f"a plan of {plan.name!r} under the key {self.name_of(record)!r}, with the pattern {pattern.name!r}"
            raise PoisonRecordError(reason, record.value)
        if logical_stream(stream) != ordered_stream(pattern):
            reason = f"a plan on the stream {stream!r}, with a pattern on {ordered_stream(pattern)!r}"
            raise PoisonRecordError(reason, record.value)
        pattern = replace(pattern, name=PatternName(plan.name), version=plan.version)
        try:
            found = family_of(pattern).hosted(pattern, *plan_of(plan.plan))
        except (InvalidQueryError, ValueError) as error:
            raise PoisonRecordError(str(error), record.value) from error
        unit, held, part = TimeUnit(plan.unit), plan.limits.effective, part_in(plan.name)
        limits = Limits(held.partial_matches, held.state_bytes, held.policy, held.steps)
        return Assignment(
            name=PatternName(plan.name),
            version=plan.version,
            epoch=plan.epoch,
            stream=stream,
            unit=unit,
            plan=found,
            window=max(1, match_lookback(pattern, unit)),
            edges=reads.lookback.edges,
            forms=family_of(pattern).canonical_parts(pattern),
            limits=limits,
            start=plan.start,
            reported_to=plan.reported_to,
            came_from=self._group(plan.came_from) if isinstance(plan.came_from, control.HostName) else None,
            consumption=_consumption_cursor(plan.consumption),
            desired=_DESIRED[plan.desired],
            until=plan.until,
            ownership=Ownership.of(pattern, part) if plan.by_vertex is True and part is not None else None,
        )

    def refusal(self, record: Record, reason: str) -> Refusal:
        """Return what is known of a plan that cannot be read."""
        name = self.name_of(record)
        try:
            head = control.decode_plan_head(record.value)
        except PoisonRecordError:
            return Refusal(name, None, None, reason)
        if (head.name, head.service, head.shard) != (name, self.service, self.shard):
            return Refusal(name, None, None, reason)
        return Refusal(name, head.version, head.epoch, reason)

    def plan_status(self, record: Record) -> PlanStatus | None:
        """Return the status of a plan, if this shard reported it."""
        if record.value is None:
            return None
        try:
            said = control.decode_status(record.value)
            if said.stream:
                check_ordered(said.stream)
        except (PoisonRecordError, InvalidQueryError):
            return None
        if control.status_key(said) != record.key:
            return None
        if (said.service, said.shard) != (self.service, self.shard) or said.state not in _SAID:
            return None
        return PlanStatus(
            PatternName(said.name),
            said.version,
            said.epoch,
            _SAID[said.state],
            StreamName(said.stream),
            said.start,
            said.reports_from,
            said.reason or "",
            said.position,
            _consumption_cursor(said.consumption),
        )

    def status_message(
        self, plan_status: PlanStatus, report: PatternReport | None = None, position: int | None = None
    ) -> Message:
        """Return the record of a plan's status, with its counts and the next offset where it runs."""
        said = control.StatusRecord(
            name=plan_status.name,
            version=plan_status.version,
            epoch=plan_status.epoch,
            service=self.service,
            shard=self.shard,
            state=plan_status.state.value,
            at=self.clock.now(),
            reason=plan_status.reason or None,
            stream=plan_status.stream,
            start=plan_status.start,
            reports_from=plan_status.reports_from,
            consumption=msgspec.UNSET
            if plan_status.consumption is None
            else control.ConsumptionCursorForm(*plan_status.consumption),
            position=position,
            matches=report.matches if report is not None else 0,
            suppressed=report.suppressed if report is not None and report.suppressed else msgspec.UNSET,
            partial_matches=report.partial_matches if report is not None else 0,
            state_bytes=report.state_bytes if report is not None else 0,
            work=report.work if report is not None else msgspec.UNSET,
            items=_items(report) if report is not None else (),
        )
        return Message(self.topics.status, control.status_key(said), control.encode_status(said))

    def cost(self, busy: float, memory_bytes: int, streams: Iterable[host_records.StreamPlace]) -> Message:
        """Return the record of the host's cost, with `busy` as a share of its time."""
        said = host_records.HostRecord(self.service, self.shard, self.clock.now(), busy, memory_bytes, tuple(streams))
        return Message(self.topics.hosts, host_records.host_key(said), host_records.encode_host(said))

    def matches(self, record: Record, header: OrderedHeader, matches: Sequence[EncodedMatch]) -> list[Message]:
        """Return the matches that an ordered record completed, each in the trace of the edge that ended it.

        Raises:
            PlanFaultError: a match cannot be written.
        """
        topic, carried = self.topics.matches, tracing.traceparents(record, header, matches, self.topics.matches)
        messages: list[Message] = []
        for match, traceparent in zip(matches, carried, strict=True):
            try:
                messages.append(match_events.encode_known(topic, match.json, _head(match), header.unit, traceparent))
            except Exception as error:
                raise PlanFaultError(match.pattern.name, reason_of(error)) from error
        return messages

    def dead_letter(self, record: Record, reason: str) -> Message:
        """Return an ordered record that cannot be read as a dead letter."""
        letter = DeadLetterRecord(
            raw=(record.value or b"")[:MOST_ORDERED_BYTES],
            code=ErrorCode.MALFORMED.value,
            reason=reason[:_LONGEST_REASON],
            time=self.clock.now().isoformat(),
            source=Source(record.topic, record.partition, record.offset),
            content_type=headers.readable(headers.by_name(record.headers), headers.CONTENT_TYPE),
        )
        return dead_letters.encode(self.topics.dead_letters(self.stream_of(record)), letter)

    def _group(self, host: control.HostName) -> str:
        return f"{self.topics.prefix}.{host.service}.{host.shard}"


def _head(of: EncodedMatch) -> match_events.MatchHead:
    return match_events.MatchHead(
        of.match_id,
        whole_of(of.pattern.name),
        of.pattern.version,
        of.kind,
        of.detected_at,
        has_change=of.pattern.reports_changes,
        nth=of.nth,
    )


def _consumption_cursor(status_message: control.ConsumptionCursorForm | msgspec.UnsetType) -> ConsumptionCursor | None:
    return (
        ConsumptionCursor(status_message.at, status_message.ties)
        if isinstance(status_message, control.ConsumptionCursorForm)
        else None
    )


def _items(report: PatternReport) -> tuple[control.ItemStatus, ...]:
    return tuple(control.ItemStatus(item.name, item.live, item.peak, item.created) for item in report.items)
