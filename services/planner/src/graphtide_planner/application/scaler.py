"""The scaler: follows what hosts cost and the number of replicas, and asks for others.

It decides every few seconds, by `graphtide_planner.domain.scaling`, where the planner of its process plans and it leads. The
planner has the transactional id, the leader the right to ask for replicas. A process that does not have both does nothing. More
replicas are asked for at once; the planner gives them patterns when they are ready. For fewer, patterns leave the last shards
first, and only when no plan needs those any more are they taken away.

What is remembered between decisions is in memory: a scaler that takes over begins with a rest.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import structlog
from graphtide_core.errors import InvalidQueryError, PoisonRecordError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message
from graphtide_log.follower import Follower
from graphtide_serving.opened import close_all, open_worker
from graphtide_telemetry import attributes as key
from graphtide_telemetry import events, metrics
from graphtide_telemetry.instruments import Gauges, add
from graphtide_wire import hosts

from graphtide_planner.application.cluster import ConflictError, Replicas, ThrottledError
from graphtide_planner.domain.passes import HostId
from graphtide_planner.domain.scaling import Aims, Bounds, Decision, History, HostLoad, Situation, decide
from graphtide_planner.domain.spreading import ShardCount

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogReader, LogWriter, Record
    from graphtide_telemetry.instruments import Observed
    from graphtide_wire.topics import Topics

    from graphtide_planner.application.cluster import Cluster, Leadership
    from graphtide_planner.application.replica_exchange import Answer, ReplicaExchange

_LOG = structlog.get_logger()

_UNKNOWN: Final = "the number of replicas is not known"

_ANY: Final = 2**31
"""More shards than any service has."""

Mode = Literal["follow", "dry-run", "on"]


@dataclass(frozen=True, slots=True)
class ScalingPlan:
    """What the scaler works by.

    Attributes:
        mode: `follow` leaves the number of replicas to others and gives plans to those that run. `dry-run` decides, and asks
            only whether it could be done; `on` does it.
        bounds: of each service that is scaled.
        aims: what is too much.
        every_seconds: time between two decisions.
        linger_seconds: how long a round waits.
    """

    mode: Mode
    bounds: Mapping[str, Bounds]
    aims: Aims = field(default_factory=Aims)
    every_seconds: float = 15.0
    linger_seconds: float = 0.2

    def shard_counts(self) -> dict[str, ShardCount]:
        """Return the shards that may be used before the number of replicas is known: none is taken for one that is gone."""
        return {service: ShardCount(bounds.least, _ANY) for service, bounds in self.bounds.items()}


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What the scaler talks to."""

    cluster: Cluster
    leadership: Leadership
    replica_exchange: ReplicaExchange


@dataclass(slots=True)
class _Opened:
    """What an open scaler holds."""

    follower: Follower
    reader: LogReader
    writer: LogWriter


class Scaler:
    """A `Worker` that keeps the number of replicas of matcher services."""

    def __init__(self, log: Log, topics: Topics, clock: Clock, neighbours: Neighbours, plan: ScalingPlan) -> None:
        """Prepare; nothing is opened yet."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._cluster = neighbours.cluster
        self._leadership = neighbours.leadership
        self._replica_exchange = neighbours.replica_exchange
        self._plan = plan
        self._opened: _Opened | None = None
        self._host_records: dict[HostId, hosts.HostRecord] = {}
        self._histories: dict[str, History] = {}
        self._decisions: dict[str, hosts.ScalingRecord] = {}
        self._due = 0.0
        self._not_before = 0.0
        self._leads = False
        self._gauges = Gauges()

    @property
    def name(self) -> str:
        """What logs call it."""
        return f"{self._topics.prefix}.scaler"

    def open(self) -> None:
        """Read what hosts said, and follow the replicas.

        Raises:
            TransientError: the log or the cluster does not answer.
            FatalError: we may not look.
        """
        self._log.admin().ensure(self._topics.of_deployment())
        self._opened = opened = _Opened(Follower(self._log, self._topics.hosts), self._log.reader(None), self._log.writer())
        self._host_records, self._decisions = {}, {}
        self._take(opened.follower.to_the_end())
        self._cluster.open()
        begun = History(changed_at=self._clock.monotonic())
        self._histories = dict.fromkeys(self._plan.bounds, begun)
        self._due = self._not_before = 0.0
        self._gauges.add(metrics.REPLICAS, self._replicas)
        self._gauges.add(metrics.SCALING_LEADS, lambda: [(int(self._leads), {})])

    def step(self) -> None:
        """Take what is new, and decide where that is due.

        Raises:
            TransientError: something does not answer; open again to continue.
            FatalError: we may not.
        """
        self._take(open_worker(self._opened, "the scaler").follower.poll())
        seen = self._cluster.seen()
        self._replica_exchange.make_room(self._shard_counts(seen))
        now = self._clock.monotonic()
        try:
            if now >= self._not_before:
                self._lead(leads=self._replica_exchange.is_open() and (self._plan.mode == "follow" or self._leadership.hold()))
                answer = self._replica_exchange.ask() if self._leads and now >= self._due else None
                if answer is not None:
                    self._due = now + self._plan.every_seconds
                    self._decide(seen, answer)
        except ThrottledError as error:
            add(metrics.SCALING_FAILURES, 1, {key.OUTCOME: "throttled"})
            self._not_before = now + error.seconds
        self._clock.sleep(self._plan.linger_seconds)

    def close(self) -> None:
        """Give back everything, the right to lead as well."""
        self._gauges.close()
        self._cluster.close()
        if self._plan.mode != "follow":
            self._leadership.release()
        self._lead(leads=False)
        if self._opened is not None:
            close_all([self._opened.follower, self._opened.reader, self._opened.writer])
            self._opened = None

    def _lead(self, *, leads: bool) -> None:
        if leads == self._leads:
            return
        self._leads = leads
        self._replica_exchange.withdraw()
        if leads:
            _LOG.info(events.LEADERSHIP_TAKEN, worker=self.name)
        else:
            _LOG.info(events.LEADERSHIP_LOST, worker=self.name)
        begun = History(changed_at=self._clock.monotonic())
        self._histories = dict.fromkeys(self._plan.bounds, begun)
        if not leads and self._plan.mode != "follow":
            self._leadership.release()

    def _take(self, records: Iterable[Record]) -> None:
        for record in records:
            if record.value is None:
                # Its replica was taken away, or is not needed any more.
                kept = {host: said for host, said in self._host_records.items() if hosts.host_key(said) != record.key}
                self._host_records = kept
                continue
            try:
                found = hosts.decode_hosts(record.key, record.value)
            except PoisonRecordError as error:
                _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)
                continue
            if isinstance(found, hosts.HostRecord):
                self._host_records[HostId(found.service, found.shard)] = found

    def _shard_counts(self, seen: Mapping[str, Replicas]) -> dict[str, ShardCount]:
        """Return the shards that may get plans: ready ones that stay."""
        shard_counts = {}
        for service, bounds in self._plan.bounds.items():
            replicas = seen.get(service)
            if replicas is None:
                continue
            leaving = self._histories[service].draining if self._plan.mode == "on" else None
            given = max(1, min(bounds.least, replicas.asked), min(replicas.ready, replicas.asked))
            shard_counts[service] = ShardCount(given if leaving is None else min(given, leaving), replicas.asked, leaving)
        return shard_counts

    def _decide(self, seen: Mapping[str, Replicas], answer: Answer) -> None:
        ends = self._ends()
        for service, bounds in sorted(self._plan.bounds.items()):
            replicas = seen.get(service)
            if replicas is None:
                self._report(service, Replicas(0, 0, ""), Decision(0, _UNKNOWN, self._histories[service]))
                continue
            situation = self._situation(service, replicas, bounds, answer, ends)
            if self._plan.mode == "follow":
                reason = "others decide how many replicas there are"
                self._report(service, replicas, Decision(replicas.asked, reason, self._histories[service]))
                continue
            decision = decide(situation, self._histories[service], self._plan.aims)
            self._report(service, replicas, decision)
            self._carry_out(service, replicas, decision, answer)

    def _situation(
        self, service: str, replicas: Replicas, bounds: Bounds, answer: Answer, ends: Mapping[str, int]
    ) -> Situation:
        held = answer.held
        shards = range(max([replicas.asked, *(host.shard + 1 for host in held.waiting if host.service == service)]))
        loads = tuple(self._of_host(HostId(service, shard), held.running[HostId(service, shard)], ends) for shard in shards)
        stranded = max((shard + 1 for shard in shards[replicas.asked :] if held.waiting[HostId(service, shard)]), default=0)
        return Situation(
            service, self._clock.monotonic(), replicas.asked, replicas.ready, bounds, loads[: replicas.asked], stranded
        )

    def _of_host(self, host: HostId, patterns: int, ends: Mapping[str, int]) -> HostLoad:
        said = self._host_records.get(host)
        if said is None or not patterns:
            # A host without patterns says nothing.
            return HostLoad(host.shard, 0.0 if not patterns else float("inf"), 0.0, 0.0, 0, 0, patterns)
        age = max(0.0, (self._clock.now() - said.at).total_seconds())
        lag = max((each.lag_seconds for each in said.streams), default=0.0)
        behind = max((ends.get(each.stream, 0) - each.position for each in said.streams), default=0)
        return HostLoad(host.shard, age, said.busy, lag, max(0, behind), said.memory_bytes, patterns)

    def _ends(self) -> dict[str, int]:
        """Return where the ordered streams end that hosts are in."""
        if self._opened is None:
            return {}
        streams = {each.stream for said in self._host_records.values() for each in said.streams}
        topics: dict[str, str] = {}
        for stream in sorted(streams):
            with suppress(InvalidQueryError):
                topics[self._topics.ordered(StreamName(stream))] = stream
        reader = self._opened.reader
        places = [place for topic in topics for place in reader.partitions(topic)]
        return {topics[place.topic]: end for place, (_, end) in reader.ends(places).items()} if places else {}

    def _carry_out(self, service: str, replicas: Replicas, decision: Decision, answer: Answer) -> None:
        """Ask for what was decided; after a failure it is decided anew soon, by what was remembered before."""
        if decision.wanted != replicas.asked and self._may_be_asked(service, decision.wanted, replicas, answer):
            try:
                if self._plan.mode == "on":
                    self._cluster.scale(service, decision.wanted, replicas)
                    self._forget(service, decision.wanted)
                    _LOG.info(
                        events.REPLICAS_CHANGED,
                        service=service,
                        replicas=decision.wanted,
                        before=replicas.asked,
                        reason=decision.reason,
                    )
                else:
                    self._cluster.try_out(service, decision.wanted, replicas)
            except ConflictError as error:
                add(metrics.SCALING_FAILURES, 1, {key.OUTCOME: "conflict"})
                _LOG.info(events.REPLICAS_NOT_CHANGED, service=service, error=str(error))
                self._due = self._clock.monotonic() + 1.0
                return
        self._histories[service] = decision.history

    def _forget(self, service: str, wanted: int) -> None:
        """Delete what hosts said that are gone now."""
        gone = [said for host, said in self._host_records.items() if host.service == service and host.shard >= wanted]
        if self._opened is not None and gone:
            self._opened.writer.write([Message(self._topics.hosts, hosts.host_key(said), None) for said in gone])

    def _may_be_asked(self, service: str, wanted: int, replicas: Replicas, answer: Answer) -> bool:
        """Whether no shard that would go is needed, as the planner says that gives plans to none of them any more."""
        if wanted > replicas.asked or self._plan.mode != "on":
            return True
        shard_count = answer.shard_counts[service]
        if shard_count.leaving is None or shard_count.leaving > wanted:
            return False
        return not any(
            host.service == service and host.shard >= wanted and plans for host, plans in answer.held.waiting.items()
        )

    def _report(self, service: str, replicas: Replicas, decision: Decision) -> None:
        """Report the decision, in the topic and in metrics."""
        bounds, wanted = self._plan.bounds[service], decision.wanted
        outcome = "more" if wanted > replicas.asked else "fewer" if wanted < replicas.asked else "as many"
        add(metrics.SCALING_DECISIONS, 1, {key.OUTCOME: outcome, key.SERVICE_OF_PLANS: service})
        draining = wanted if wanted < replicas.asked and self._plan.mode == "on" else None
        said = hosts.ScalingRecord(
            service=service,
            at=self._clock.now(),
            mode=self._plan.mode,
            replicas=replicas.asked,
            ready=replicas.ready,
            wanted=wanted,
            least=bounds.least,
            most=bounds.most,
            reason=decision.reason,
            draining=draining,
        )
        before = self._decisions.get(service)
        if before is None or (before.wanted, before.reason) != (said.wanted, said.reason):
            _LOG.info(events.REPLICAS_DECIDED, service=service, replicas=wanted, before=replicas.asked, reason=said.reason)
        self._decisions[service] = said
        if self._opened is not None:
            self._opened.writer.write([Message(self._topics.hosts, hosts.scaling_key(service), hosts.encode_scaling(said))])

    def _replicas(self) -> Iterator[Observed]:
        for service, said in list(self._decisions.items()):
            for state, count in (("asked", said.replicas), ("ready", said.ready), ("wanted", said.wanted)):
                yield count, {key.SERVICE_OF_PLANS: service, key.STATE: state}
