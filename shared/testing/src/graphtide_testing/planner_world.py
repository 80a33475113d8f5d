"""A planner over a log in memory, with matchers that do what the planner asks, and records for it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from graphtide_core.ports.log import Message, Record, TopicPartition
from graphtide_core.statistics import DegreeMoments, EdgeType, StatisticsSnapshot, TimeRange
from graphtide_core.time import EventTime
from graphtide_log.memory import MemoryLog
from graphtide_planner.application.planner import Planner, Rounds
from graphtide_planner.domain.planning import PlanningPolicy
from graphtide_serving.clock import SystemClock
from graphtide_wire import control, statistics
from graphtide_wire.topics import Topics

from graphtide_testing.mortal import Fuse, KilledError, Mortal
from graphtide_testing.registrations import registration

if TYPE_CHECKING:
    from graphtide_planner.application.replica_exchange import ReplicaExchange

TOPICS = Topics("test")
AT = datetime(2024, 1, 1, tzinfo=UTC)
POLICY = PlanningPolicy(
    {"matcher_timing": 2, "matcher_sjtree": 1, "matcher_simulation": 1, "matcher_event_pattern": 2, "matcher_algebra": 2}
)
FAST = Rounds(linger_seconds=0.0, most_patterns=2)


def text(name: str, stream: str = "s") -> str:
    """A pattern that is like no other whose name has another number."""
    number = int("".join(filter(str.isdigit, name)) or 0)
    return f"PATTERN {name} MATCH (a)-[x:k]->(b)-[y:l]->(c) ORDER x < y ON {stream} WINDOW {100 + number}"


def like(name: str, engine: str = "timing", **changes: Any) -> control.PatternRecord:
    """A registration of a pattern that is equal but for its names to all others of this."""
    return registration(alike(name), AT, **{"start": 10, "options": control.PatternOptions(engine), **changes})


def alike(name: str) -> str:
    """A pattern that is like all others of this text, with parts of its own names."""
    return f"PATTERN {name} MATCH (a{name})-[x{name}:k]->(b)-[y:l]->(c) ORDER x{name} < y ON s WINDOW 50"


def pattern(name: str = "p", **changes: Any) -> control.PatternRecord:
    """Return a registration; of another text with what the usual one reads."""
    options = control.PatternOptions(changes.pop("engine", "timing"))
    return registration(text(name), AT, **{"start": 10, "options": options, **changes})


def snapshot(rare: str, version: int = 1) -> StatisticsSnapshot:
    """A stream of 100,000 edges with almost none of one type."""
    counts = {EdgeType(None, label, None): (10 if label == rare else 99_990) for label in ("k", "l")}
    degrees = DegreeMoments(1_000, 100_000, 10_000_000, 200)
    window = TimeRange(EventTime(0), EventTime(1_000))
    return StatisticsSnapshot(version, window, EventTime(0), EventTime(999), 100_000, 1_000, counts, None, degrees, degrees)


def even() -> StatisticsSnapshot:
    """A stream with two types that have every tenth edge each: alone, no engine is much better."""
    counts = {EdgeType(None, label, None): number for label, number in (("k", 10_000), ("l", 10_000), ("o", 80_000))}
    return replace(snapshot("k"), types=counts)


def consumed_at(end: int) -> control.ConsumptionCursorForm:
    """Return how far a plan had consumed that ended at an offset, as hosts say here."""
    return control.ConsumptionCursorForm(end, 1)


@dataclass
class PlannerWorld:
    """A log, a planner that can be killed, and hosts that follow their plans."""

    log: MemoryLog = field(default_factory=MemoryLog)
    fuse: Fuse = field(default_factory=Fuse)
    planner: Planner | None = None
    policy: PlanningPolicy = POLICY
    replica_exchange: ReplicaExchange | None = None
    offset: int = 20
    hosts: dict[tuple[str, int], dict[str, control.StatusRecord]] = field(default_factory=dict)
    begun: dict[tuple[str, int, str], int] = field(default_factory=dict)
    """The offset where each host starts to report each pattern, by service, shard and name."""
    reported: dict[tuple[str, int], list[tuple[int, int]]] = field(default_factory=dict)
    """Stretches of the ordered stream that were reported, by pattern and version."""

    def __post_init__(self) -> None:
        """Make the topics of a deployment."""
        self.log.admin().ensure(TOPICS.of_deployment())
        self.writer = self.log.writer()

    def register(self, record: control.PatternRecord) -> None:
        """Register a pattern."""
        self.writer.write([Message(TOPICS.patterns, record.name.encode(), control.encode_pattern(record))])

    def delete(self, name: str) -> None:
        """Delete a pattern."""
        self.writer.write([Message(TOPICS.patterns, name.encode(), None)])

    def count(self, found: StatisticsSnapshot) -> None:
        """Publish statistics."""
        value = statistics.encode_statistics(statistics.StatisticsRecord("s", found.version, found))
        self.writer.write([Message(TOPICS.statistics, b"s", value)])

    def new_planner(self) -> Planner:
        """Return a planner that the fuse may kill."""
        mortal: Any = Mortal(self.log, self.fuse)
        return Planner(mortal, TOPICS, SystemClock(), self.policy, FAST, replica_exchange=self.replica_exchange)

    def plan(self, rounds: int = 8) -> None:
        """Let the planner do rounds; where it is killed, another takes its place."""
        for _ in range(rounds):
            try:
                if self.planner is None:
                    self.planner = self.new_planner()
                    self.planner.open()
                self.planner.step()
            except KilledError:
                self.planner = None

    def read(self, topic: str) -> list[Record]:
        """Return the records of a topic."""
        reader = self.log.reader(None)
        reader.assign({TopicPartition(topic, 0): 0})
        return reader.poll(0, 10**6)

    def plans(self) -> dict[str, control.PlanRecord]:
        """The plans that hold."""
        found: dict[str, control.PlanRecord] = {}
        for record in self.read(TOPICS.plans):
            found.pop((record.key or b"").decode(), None)
            if record.value is not None:
                plan = control.decode_plan(record.value)
                assert isinstance(plan, control.PlanRecord)
                found[plan.name] = plan
        return found

    def refusal(self, name: str) -> str | None:
        """Return why the planner refuses a pattern; None if it does not."""
        said = [record.value for record in self.read(TOPICS.status) if record.key == f"{name}@planner.0".encode()]
        return control.decode_status(said[-1]).reason if said and said[-1] is not None else None

    def host(self, service: str, shard: int) -> None:
        """Let a host read to the stream's end and then do as plans say, as `graphtide_matcher_host` does."""
        said = self.hosts.setdefault((service, shard), {})
        wanted = {name: plan for name, plan in self.plans().items() if (plan.service, plan.shard) == (service, shard)}
        for name, status in said.items():
            kept = wanted.get(name)
            if status.state == "running" and (kept is None or kept.version != status.version or kept.desired != "running"):
                self.cut(status, self.end(status, kept))
        for name, plan in wanted.items():
            before = said.get(name)
            goes_on = before is not None and before.version == plan.version and before.state == "running"
            if plan.desired != "running":
                if before is not None and goes_on:
                    self.say(plan, plan.desired, self.end(before, plan))
                elif before is None or before.epoch != plan.epoch:
                    ended = before.start or 0 if before is not None and before.version == plan.version else 0
                    begun = max(plan.start or 0, plan.reported_to or 0, ended)
                    if plan.until is not None and begun < plan.until:
                        self.reported.setdefault((name, plan.version), []).append((begun, plan.until))
                        begun = plan.until
                    self.say(plan, plan.desired, begun)
            elif goes_on and before is not None:
                self.say(plan, "running", before.start)
            elif before is None or before.epoch != plan.epoch:
                self.begun[service, shard, name] = max(plan.start or 0, plan.reported_to or 0)
                self.say(plan, "running", plan.start)

    def end(self, status: control.StatusRecord, plan: control.PlanRecord | None) -> int:
        """Where a plan ends that runs."""
        until = plan.until if plan is not None and plan.version == status.version and plan.until is not None else 0
        return max(self.begun[status.service, status.shard, status.name], self.offset, until)

    def cut(self, status: control.StatusRecord, end: int) -> None:
        """Note that a plan has reported up to an offset."""
        stretch = (self.begun[status.service, status.shard, status.name], end)
        self.reported.setdefault((status.name, status.version), []).append(stretch)

    def say(
        self, plan: control.PlanRecord, state: Literal["running", "paused", "stopped", "failed"], start: int | None
    ) -> None:
        """Say as a host what a plan does."""
        consumption = msgspec.UNSET if start is None or state == "running" else consumed_at(start)
        status = control.StatusRecord(
            plan.name, plan.version, plan.epoch, plan.service, plan.shard, state, AT, None, start, consumption=consumption
        )
        if status != self.hosts.setdefault((plan.service, plan.shard), {}).get(plan.name):
            self.hosts[plan.service, plan.shard][plan.name] = status
            self.writer.write([Message(TOPICS.status, control.status_key(status), control.encode_status(status))])

    def limit(self, name: str) -> None:
        """Let a pattern reach a limit of its host."""
        plan = self.plans()[name]
        before = self.hosts[plan.service, plan.shard][name]
        self.cut(before, self.offset)
        self.say(plan, "failed", self.offset)

    def settle(self) -> None:
        """Let the planner and all hosts settle."""
        self.fuse.length = 0
        for _ in range(6):
            self.plan()
            for service, shards in POLICY.shards.items():
                for shard in range(shards):
                    self.host(service, shard)

    def stretches(self, name: str, version: int = 1) -> list[tuple[int, int]]:
        """What was reported of a pattern, up to now."""
        now = [
            (self.begun[status.service, status.shard, status.name], self.offset)
            for said in self.hosts.values()
            for status in said.values()
            if (status.name, status.version, status.state) == (name, version, "running")
        ]
        return sorted([*self.reported.get((name, version), []), *now])
