"""The protocol between users, planner and hosts, as a model that Hypothesis drives: the code as it is, over a log in memory.

Users register, replace, pause and delete. Streams change, so plans move between services and shards. The planner and every host
may be killed before and after any call to the log. They may lag behind, or have a twin of the same identity. Strangers write
rubbish into the topic of plans. In every story each match is reported once, by the version that is active at its record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from graphtide_admin_api.domain.registration import Moment, PatternRequest, apply_change, register
from graphtide_core.edge import Edge
from graphtide_core.errors import FatalError, TransientError
from graphtide_core.ids import EdgeId, StreamName, VertexId
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_core.statistics import DegreeMoments, EdgeType, StatisticsSnapshot, TimeRange
from graphtide_core.time import EventTime, TimeUnit
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_log.memory import MemoryLog
from graphtide_matcher_host.host import HostSettings, MatcherHost
from graphtide_matcher_host.records import HostRecords
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_planner.application.planner import Planner, Rounds
from graphtide_planner.domain.planning import PlanningPolicy
from graphtide_query.families import SERVICES
from graphtide_serving.clock import SystemClock
from graphtide_testing.accounting import Account, completed_by
from graphtide_testing.mortal import Fuse, KilledError, Mortal
from graphtide_testing.records import to_json_lines
from graphtide_wire import control, matches, ordered, statistics
from graphtide_wire.topics import Topics
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

if TYPE_CHECKING:
    from graphtide_wire.control import PatternRecord

TOPICS, STREAM = Topics("test"), StreamName("s")
SHARDS = {"matcher_timing": 2, "matcher_sjtree": 2, "matcher_simulation": 2}
POLICY = PlanningPolicy(SHARDS)
HOSTS = [(service, shard) for service, shards in SHARDS.items() for shard in range(shards)]
QUICK = HostSettings(linger_seconds=0.0, most_records=2, checkpoint_seconds=0.0, counts_seconds=0.0)
NAMES = ("p", "q", "ddst")
ENGINES = ("timing", "sj-tree", "filtering")
OF_SIMULATION = {"timing": "ddst-coloring", "sj-tree": "ddst-signature", "filtering": "ddst-baseline", "auto": "auto"}
"""Engines of patterns of dual simulation in place of each engine."""
RUBBISH = (b"", b"{", b'{"name":"p","version":1,"epoch":7,"service":"matcher_timing","shard":0,"format":99}')
AT = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass
class Life:
    """A worker that can be killed; another follows each one that is killed."""

    make: Any
    fuse: Fuse = field(default_factory=Fuse)
    worker: Any = None

    def live(self, rounds: int) -> None:
        """Do rounds, opening where that is needed."""
        for _ in range(rounds):
            try:
                if self.worker is None:
                    self.worker = self.make(self.fuse)
                    self.worker.open()
                self.worker.step()
            except (KilledError, FatalError, TransientError):
                self.kill()

    def kill(self) -> None:
        """End the worker; another begins with the next round."""
        self.worker = None


class Protocol(RuleBasedStateMachine):
    """A deployment of two matcher services with two shards each."""

    def __init__(self) -> None:
        super().__init__()
        self.log, self.checkpoints = MemoryLog(), MemoryCheckpoints()
        self.log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(STREAM)])
        self.writer, self.symbols = self.log.writer(), Symbols()
        self.sent: dict[str, int] = {}
        """Offset of the record that holds each edge which completes a match."""
        self.edges = 0
        self.snapshots = 0
        self.records: dict[str, PatternRecord] = {}
        self.versions: dict[str, int] = {}
        self.accounts = {name: Account() for name in NAMES}
        self.planner = Life(lambda fuse: Planner(self._mortal(fuse), TOPICS, SystemClock(), POLICY, Rounds(0.0, 1)))
        self.hosts = {place: Life(lambda fuse, place=place: self._host(place, fuse)) for place in HOSTS}

    @rule(edges=st.integers(1, 5), is_marked=st.booleans())
    def edges_come(self, edges: int, *, is_marked: bool) -> None:
        """Each edge continues the one before it, in a record of its own; ends of transactions take offsets, too."""
        transactor = self.log.transactor("sequencer")
        transactor.open()
        for _ in range(edges):
            number, self.edges = self.edges, self.edges + 1
            edge = Edge(EdgeId(f"e{number}"), EventTime(number), VertexId(f"v{number}"), VertexId(f"v{number + 1}"), "k")
            if number:
                self.sent[edge.id] = self._end()
            header = ordered.OrderedHeader(edge.ts, edge.ts, 1, number, edge.ts, TimeUnit.MILLISECOND)
            value = JsonLinesDecoder(self.symbols, [], {}).decode(to_json_lines([edge])).to_arrow()
            message = ordered.encode(TOPICS.ordered(STREAM), header, value)
            if is_marked:
                transactor.begin()
                transactor.write([message])
                transactor.commit("sequencer", {})
            else:
                self.writer.write([message])

    @rule(name=st.sampled_from(NAMES), engine=st.sampled_from(("auto", *ENGINES)))
    def user_registers(self, name: str, engine: str) -> None:
        """Registers a name that is free; replaces one that is not by another text."""
        old = self.records.get(name)
        version = self.versions[name] = self.versions.get(name, 0) + 1
        planner_options = PatternRequest(_text(name, version), control.LimitsForm(), _engine(name, engine), "active")
        if old is None:
            new = register(planner_options, version, self._moment())
            self.accounts[name].register(version, new.start or 0)
        else:
            new = apply_change(old, planner_options, version, self._moment())
            self.accounts[name].replace(version, new.start or 0)
            if old.state == "paused":
                self.accounts[name].resume(new.start or 0)
        self._write(new)

    @rule(name=st.sampled_from(NAMES))
    def user_deletes(self, name: str) -> None:
        """Deletes a pattern, if it is there."""
        if self.records.pop(name, None) is not None:
            self.accounts[name].delete()
            self.writer.write([Message(TOPICS.patterns, name.encode(), None)])

    @rule(name=st.sampled_from(NAMES), engine=st.sampled_from(ENGINES))
    def user_deletes_and_registers(self, name: str, engine: str) -> None:
        """So quickly that others see both at once."""
        self.user_deletes(name)
        self.user_registers(name, engine)

    @rule(name=st.sampled_from(NAMES), engine=st.sampled_from(ENGINES))
    def pattern_moves_to_a_host_that_lags(self, name: str, engine: str) -> None:
        """Others continue, so that the host takes over what they have reported past its own position."""
        if name in self.records:
            self.user_asks_for_an_engine(name, engine)
            for _ in range(2):
                self.planner_works(2, 0)
                for place in HOSTS:
                    if place[0] != SERVICES[_engine(name, engine)]:
                        self.host_works(place, 6, 0)
            self.planner_works(2, 0)
            for place in HOSTS:
                self.host_works(place, 1, 0)

    @rule(name=st.sampled_from(NAMES), engine=st.sampled_from(ENGINES))
    def user_asks_for_an_engine(self, name: str, engine: str) -> None:
        """Another engine may mean another service."""
        if name in self.records:
            self._write(apply_change(self.records[name], PatternRequest(engine=_engine(name, engine)), 0, self._moment()))

    @rule(name=st.sampled_from(NAMES))
    def user_pauses_or_resumes(self, name: str) -> None:
        """What completes meanwhile is not reported."""
        if name not in self.records:
            return
        if self.records[name].state == "active":
            self._write(apply_change(self.records[name], PatternRequest(state="paused"), 0, self._moment()))
            self.accounts[name].pause()
        else:
            self._write(apply_change(self.records[name], PatternRequest(state="active"), 0, self._moment()))
            self.accounts[name].resume(self.records[name].start or 0)

    @rule(is_rare=st.booleans())
    def stream_changes(self, *, is_rare: bool) -> None:
        """Another engine may be the cheapest now."""
        self.snapshots += 1
        counts = {EdgeType(None, "k", None): 10 if is_rare else 99_990, EdgeType(None, "l", None): 99_990 if is_rare else 10}
        degrees = DegreeMoments(1_000, 100_000, 10_000_000, 200)
        window = TimeRange(EventTime(0), EventTime(1_000))
        found = StatisticsSnapshot(
            self.snapshots, window, EventTime(0), EventTime(999), 100_000, 1_000, counts, None, degrees, degrees
        )
        record = statistics.StatisticsRecord(STREAM, self.snapshots, found)
        self.writer.write([Message(TOPICS.statistics, STREAM.encode(), statistics.encode_statistics(record))])

    @rule(rounds=st.integers(1, 4), fuse=st.one_of(st.just(0), st.integers(1, 90)))
    def planner_works(self, rounds: int, fuse: int) -> None:
        """Until it is killed, at the latest."""
        self.planner.fuse.length = fuse
        self.planner.live(rounds)

    @rule(place=st.sampled_from(HOSTS), rounds=st.integers(1, 4), fuse=st.one_of(st.just(0), st.integers(1, 90)))
    def host_works(self, place: tuple[str, int], rounds: int, fuse: int) -> None:
        """Until it is killed, at the latest."""
        self.hosts[place].fuse.length = fuse
        self.hosts[place].live(rounds)

    @rule(place=st.sampled_from(HOSTS), rounds=st.integers(1, 2))
    def twin_works(self, place: tuple[str, int], rounds: int) -> None:
        """Another process of the same identity shuts the first out, does something and is gone."""
        twin = Life(self.hosts[place].make)
        twin.live(rounds)

    @rule(place=st.sampled_from(HOSTS))
    def checkpoint_is_lost_or_spoilt(self, place: tuple[str, int]) -> None:
        """The log has it all."""
        service, shard = place
        self.checkpoints.save(f"{TOPICS.prefix}.{service}.{shard}.{STREAM}", b"\x80", {}, [])
        self.hosts[place].kill()

    @precondition(lambda self: self.edges > 0)
    @rule(name=st.sampled_from(NAMES), value=st.sampled_from(RUBBISH))
    def somebody_writes_rubbish(self, name: str, value: bytes) -> None:
        """A plan that is none."""
        self.writer.write([Message(TOPICS.plans, name.encode(), value)])

    def teardown(self) -> None:
        """Let the deployment settle, and check the accounts."""
        self._rest()
        self.edges_come(2, is_marked=False)
        self._rest()
        got: dict[str, list[tuple[int, int]]] = {name: [] for name in NAMES}
        for record in self._read(TOPICS.matches):
            event = matches.decode(record)
            got[event.pattern].append((event.version, self.sent.get(completed_by(event.body), -1)))
        offsets = sorted(self.sent.values())
        for name, account in self.accounts.items():
            assert account.flaws(got[name], offsets) == [], (name, account, got[name], offsets)

    def _rest(self) -> None:
        for life in (self.planner, *self.hosts.values()):
            life.fuse.length = 0
        for _ in range(12):
            self.planner.live(2 * len(NAMES) + 2)
            for life in self.hosts.values():
                life.live(2)
        for life in self.hosts.values():
            life.live(len(self.sent) + 4)

    def _host(self, place: tuple[str, int], fuse: Fuse) -> MatcherHost:
        log, checkpoints = self._mortal(fuse), Mortal(self.checkpoints, fuse)
        return MatcherHost(log, checkpoints, HostRecords(TOPICS, *place, SystemClock()), SystemClock(), QUICK)

    def _mortal(self, fuse: Fuse) -> Any:
        return Mortal(self.log, fuse)

    def _end(self) -> int:
        place = TopicPartition(TOPICS.ordered(STREAM), 0)
        return self.log.reader(None).ends([place])[place][1]

    def _moment(self) -> Moment:
        return Moment(AT, {STREAM: self._end()})

    def _write(self, record: PatternRecord) -> None:
        self.records[record.name] = record
        self.writer.write([Message(TOPICS.patterns, record.name.encode(), control.encode_pattern(record))])

    def _read(self, topic: str) -> list[Any]:
        reader = self.log.reader(None)
        reader.assign({TopicPartition(topic, 0): 0})
        return reader.poll(0, 10**6)


def _engine(name: str, engine: str) -> str:
    return OF_SIMULATION[engine] if name == "ddst" else engine


def _text(name: str, version: int) -> str:
    """Return a pattern that each edge completes a match of, but for the first."""
    semantics = ""
    if name == "ddst":
        semantics = f" UNDER DUAL SIMULATION REPORT {('INSTANCES', 'CHANGES')[version % 2]}"
    return f"PATTERN {name} MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y{semantics} ON {STREAM} WINDOW {1000 + version}"


TestProtocol = Protocol.TestCase
TestProtocol.settings = settings(stateful_step_count=40, suppress_health_check=list(HealthCheck))
