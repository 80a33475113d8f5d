"""A log with a stream, a planner's hand, and matcher hosts that can be killed: for tests that look at what hosts report."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from graphtide_core.edge import Edge, Operation
from graphtide_core.event import Event
from graphtide_core.event_pattern import EventPattern
from graphtide_core.graph_query import GraphQuery
from graphtide_core.pattern import Report, SubgraphPattern
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_core.time import EventTime, TimeUnit
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_log.memory import MemoryLog
from graphtide_matcher_host.host import HostSettings, MatcherHost
from graphtide_matcher_host.records import HostRecords
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_query import print_pattern
from graphtide_query.families import PlannerOptions, family_of
from graphtide_query.families.family import PlanningContext
from graphtide_serving.clock import SystemClock
from graphtide_wire import control, ordered, ordered_body
from graphtide_wire.plans import form_of
from graphtide_wire.topics import Topics

from graphtide_testing import components
from graphtide_testing.found import keys_in_json_lines
from graphtide_testing.mortal import Fuse, KilledError, Mortal
from graphtide_testing.oracles.events import EventOracle
from graphtide_testing.oracles.graph_queries import GraphQueryOracle
from graphtide_testing.oracles.simulation import SimulationOracle
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.records import events_to_json_lines, to_json_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.ids import StreamName
    from graphtide_core.plans import AssignedPlan
    from graphtide_core.ports.log import Log

    from graphtide_testing.found import Found
    from graphtide_testing.oracles.events import Emitted
    from graphtide_testing.oracles.graph_queries import EmittedInterval
    from graphtide_testing.oracles.simulation import Component

TOPICS: Final = Topics("test")
FAST: Final = HostSettings(linger_seconds=0.0, most_records=2, checkpoint_seconds=0.0, counts_seconds=0.0)
ATTRIBUTES: Final = ["n", "m", "s", "t", "k"]


@dataclass
class HostWorld:
    """A log with a stream, a planner's hand, and a host that can be killed."""

    stream: StreamName
    log: Log = field(default_factory=MemoryLog)
    checkpoints: MemoryCheckpoints = field(default_factory=MemoryCheckpoints)
    symbols: Symbols = field(default_factory=Symbols)
    sent: list[tuple[int, int, Edge | Event]] = field(default_factory=list)
    passed: list[tuple[int, int, int]] = field(default_factory=list)
    fuse: Fuse = field(default_factory=Fuse)
    host: MatcherHost | None = None
    epoch: int = 0
    stream_epoch: int = 0
    service: str = "matcher_timing"

    def __post_init__(self) -> None:
        """Make the topics."""
        self.log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(self.stream)])
        self.writer = self.log.writer()

    def beside(self, service: str) -> HostWorld:
        """Return the same world, in the view of another service's host."""
        return HostWorld(self.stream, self.log, self.checkpoints, self.symbols, self.sent, self.passed, service=service)

    @property
    def number(self) -> int:
        """The number of the edge that is sent next."""
        return sum(edge.operation is Operation.INSERT for _, _, edge in self.sent)

    def end(self) -> int:
        """Return the offset of the record that is written next."""
        place = TopicPartition(TOPICS.ordered(self.stream), 0)
        return self.log.reader(None).ends([place])[place][1]

    def send(self, edges: Sequence[Edge | Event], traceparent: str | None = None, passes: int | None = None) -> None:
        """Write edges or events as one ordered record, all of them in a trace if one is given.

        Its watermark is `passes`, or the time of the last of them.
        """
        if not edges:
            return
        decoder = JsonLinesDecoder(self.symbols, ATTRIBUTES, {})
        decoder.start_at(len(self.sent))
        batch = decoder.decode(b"".join(_line(each) for each in edges))
        header = ordered.OrderedHeader(
            first_ts=edges[0].ts,
            last_ts=edges[-1].ts,
            records=len(edges),
            ordinal=len(self.sent),
            watermark=edges[-1].ts if passes is None else EventTime(passes),
            unit=TimeUnit.MILLISECOND,
            epoch=self.stream_epoch,
            number=self.number,
            traceparent=traceparent,
            traces=() if traceparent is None else (ordered.TracedRows(0, len(edges), traceparent),),
        )
        self.sent += [(self.end(), self.stream_epoch, edge) for edge in edges]
        if passes is not None:
            self.passed.append((self.end(), self.stream_epoch, passes))
        self.writer.write([ordered.encode(TOPICS.ordered(self.stream), header, batch.to_arrow())])

    def pass_time(self, watermark: int) -> None:
        """Write a heartbeat: no edge before a time follows."""
        newest = max(edge.ts for _, epoch, edge in self.sent if epoch == self.stream_epoch)
        header = ordered.OrderedHeader(
            first_ts=newest,
            last_ts=newest,
            records=0,
            ordinal=len(self.sent),
            watermark=EventTime(watermark),
            unit=TimeUnit.MILLISECOND,
            epoch=self.stream_epoch,
            number=self.number,
        )
        self.passed.append((self.end(), self.stream_epoch, watermark))
        self.writer.write([ordered.encode(TOPICS.ordered(self.stream), header, ordered_body.encode_none())])

    def begin_epoch(self, *, emitted: bool = True) -> None:
        """Let the stream's times begin anew; `emitted` by a record without edges."""
        self.stream_epoch += 1
        if emitted:
            topic, unit = TOPICS.ordered(self.stream), TimeUnit.MILLISECOND
            beginning = (topic, self.stream_epoch, len(self.sent), unit, ordered_body.encode_none())
            self.writer.write([ordered.encode_beginning(*beginning, number=self.number)])

    def plan(self, pattern: AnyPattern, engine: str, *, service: str = "matcher_timing", **more: Any) -> None:
        """Write a plan as the planner would."""
        self.epoch += 1
        given = {"desired": "running"} | more
        if "plan" not in given:
            given["plan"] = form_of(plan(pattern, engine))
        record = control.PlanRecord(
            name=pattern.name,
            version=pattern.version,
            epoch=self.epoch,
            engine=engine,
            service=service,
            shard=0,
            pattern=control.PatternText(print_pattern(pattern)),
            **given,
        )
        self.writer.write([Message(TOPICS.plans, pattern.name.encode(), control.encode_plan(record))])

    def forget(self, pattern: AnyPattern) -> None:
        """Delete a plan."""
        self.writer.write([Message(TOPICS.plans, pattern.name.encode(), None)])

    def new_host(self, service: str | None = None) -> MatcherHost:
        """Return a host whose calls burn the fuse."""
        records = HostRecords(TOPICS, service or self.service, 0, SystemClock())
        log: Any = Mortal(self.log, self.fuse)
        checkpoints: Any = Mortal(self.checkpoints, self.fuse)
        return MatcherHost(log, checkpoints, records, SystemClock(), FAST)

    def live(self, rounds: int) -> None:
        """Let the host do rounds; where it is killed, another takes its place."""
        for _ in range(rounds):
            try:
                if self.host is None:
                    self.host = self.new_host()
                    self.host.open()
                self.host.step()
            except KilledError:
                self.host = None

    def settle(self) -> None:
        """Let the host do all there is to do, and live."""
        self.fuse.length = 0
        self.live(len(self.sent) + len(self.passed) + self.stream_epoch + 4)

    def matches(self, name: str | None = None) -> list[str]:
        """Return what consumers got, in any order; of one pattern, if a name is given."""
        reader = self.log.reader(None)
        reader.assign({TopicPartition(TOPICS.matches, 0): 0})
        read = reader.poll(0, 10**6)
        lines = [record.value or b"" for record in read if name is None or record.key == name.encode()]
        of_events = [line for line in lines if b'"events":' in line]
        results = [line for line in lines if b'"valid":' in line]
        others = [line for line in lines if b'"events":' not in line and b'"valid":' not in line]
        found = map(_comparable, keys_in_json_lines(b"\n".join(others)))
        return sorted([*found, *map(_occurrence, of_events), *map(_result, results)])

    def expected(self, pattern: AnyPattern, start: int, end: int | None = None) -> list[str]:
        """Return what is to be reported of a pattern that runs from an offset on, up to another."""
        if isinstance(pattern, EventPattern):
            return self._expected_occurrences(pattern, start, end)
        if isinstance(pattern, GraphQuery):
            return self._expected_results(pattern, start, end)
        assert isinstance(pattern, SubgraphPattern)
        if not pattern.morphism.is_mapping:
            return self._expected_components(pattern, start, end)
        found, emitted = [], set()
        for epoch in range(self.stream_epoch + 1):
            oracle, has_begun = SubgraphOracle(pattern), False
            for offset, edge in self._edges_of(epoch):
                if offset >= start and not has_begun:
                    has_begun = True
                    oracle.begin()
                for match in oracle.push(edge):
                    if (
                        offset >= start
                        and (end is None or offset < end)
                        and (match.kind == "match" or match.match_id in emitted)
                    ):
                        found.append(repr(match))
                        emitted.add(match.match_id)
        return sorted(found)

    def _expected_components(self, pattern: SubgraphPattern, start: int, end: int | None) -> list[str]:
        found: list[Component] = []
        for epoch in range(self.stream_epoch + 1):
            oracle, has_begun = SimulationOracle(pattern), False
            for offset, record in self._records_of(epoch):
                if offset >= start and not has_begun:
                    has_begun = True
                    oracle.begin()
                emitted = (
                    oracle.pass_time(record)
                    if isinstance(record, int)
                    else oracle.push(record)
                    if isinstance(record, Edge)
                    else []
                )
                found += emitted if offset >= start and (end is None or offset < end) else []
        return sorted(repr(components.comparable(components.make_expected(each))) for each in found)

    def _expected_occurrences(self, pattern: EventPattern, start: int, end: int | None) -> list[str]:
        """Return what is to be reported of an event pattern: of matches whose last event came from the start on.

        Of counts the event that completed them is not compared, which their records do not name.
        """
        found: list[str] = []
        for epoch in range(self.stream_epoch + 1):
            oracle, came, has_begun = EventOracle(pattern), dict[str, int](), False
            for offset, record in self._records_of(epoch):
                if offset >= start and not has_begun:
                    has_begun = True
                    oracle.begin()
                if isinstance(record, Event) and record.operation is Operation.INSERT:
                    came[record.id] = offset
                emitted = (
                    oracle.advance(record)
                    if isinstance(record, int)
                    else oracle.push(record)
                    if isinstance(record, Event)
                    else ()
                )
                is_reported = offset >= start and (end is None or offset < end)
                found += [_show(pattern, each) for each in emitted if is_reported and came[each.completed_by] >= start]
        return sorted(found)

    def _expected_results(self, query: GraphQuery, start: int, end: int | None) -> list[str]:
        """Return the expected results of a graph query: those of a query since the first edge that come after the start."""
        found: list[str] = []
        for epoch in range(self.stream_epoch + 1):
            oracle = GraphQueryOracle(query)
            for offset, edge in self._edges_of(epoch):
                emitted = oracle.push(edge)
                found += [
                    _emitted_result(each, edge.ts) for each in emitted if offset >= start and (end is None or offset < end)
                ]
        return sorted(found)

    def _records_of(self, epoch: int) -> list[tuple[int, Edge | Event | int]]:
        """Return the records and heartbeats of an epoch, with their offsets."""
        records: list[tuple[int, int, Edge | Event | int]] = [*self.sent, *self.passed]
        return [(offset, record) for offset, of, record in sorted(records, key=lambda each: each[0]) if of == epoch]

    def _edges_of(self, epoch: int) -> list[tuple[int, Edge]]:
        return [(offset, edge) for offset, of, edge in self.sent if of == epoch and isinstance(edge, Edge)]

    def said(self) -> dict[str, control.StatusRecord]:
        """Return the last that was said of every pattern."""
        reader = self.log.reader(None)
        reader.assign({TopicPartition(TOPICS.status, 0): 0})
        return {each.name: each for each in (control.decode_status(record.value) for record in reader.poll(0, 10**6))}

    def states(self) -> dict[str, str]:
        """Return the last state of every pattern."""
        return {name: said.state for name, said in self.said().items()}


def _comparable(found: Found) -> str:
    """Return what was reported, of a component without what the oracle does not say."""
    return repr(components.comparable(components.read_report(found)) if found.is_component else found)


def _occurrence(line: bytes) -> str:
    """Return what was reported of an event pattern; for a count, without the match that it shows."""
    record = json.loads(line)
    events = {name: (ids,) if isinstance(ids, str) else tuple(ids) for name, ids in record["events"].items()}
    is_counted = "count" in record
    return repr(
        (record["kind"], record["detected_at"], record.get("count", 1), () if is_counted else tuple(sorted(events.items())))
    )


def _result(line: bytes) -> str:
    """Return an emitted result without its path: any valid path is right."""
    record = json.loads(line)
    row = tuple(record["bindings"].values()) if "bindings" in record else (record["src"], record["dst"])
    return repr((record["kind"], record["detected_at"], record["label"], row, record["valid"], record.get("nth", 0)))


def _emitted_result(emitted: EmittedInterval, at: int) -> str:
    return repr((emitted.kind.value, int(at), emitted.label, tuple(map(str, emitted.row)), list(emitted.valid), emitted.nth))


def _show(pattern: EventPattern, emitted: Emitted) -> str:
    is_counted = pattern.report is Report.EXISTS and emitted.kind != "timeout"
    return repr((emitted.kind, emitted.detected_at, emitted.count, () if is_counted else tuple(sorted(emitted.events))))


def _line(record: Edge | Event) -> bytes:
    return events_to_json_lines([record]) if isinstance(record, Event) else to_json_lines([record])


def plan(pattern: AnyPattern, engine: str) -> AssignedPlan:
    """Return how an engine matches a pattern, as the planner would say."""
    return family_of(pattern).assign(pattern, PlannerOptions(engine), PlanningContext()).physical
