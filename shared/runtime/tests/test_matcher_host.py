"""The host reports every match of its patterns once, whatever happens to it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.edge import Edge
from graphtide_core.errors import FencedError, InvalidPatternError, TransientError
from graphtide_core.ids import EdgeId, PatternName, StreamName, VertexId
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_core.time import EventTime, TimeUnit
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_query import parse, print_pattern
from graphtide_query.planner import ENGINES, plan
from graphtide_runtime.checkpoints.memory import MemoryCheckpoints
from graphtide_runtime.clock import SystemClock
from graphtide_runtime.matcher_host.host import HostSettings, MatcherHost
from graphtide_runtime.matcher_host.wire_records import WireRecords
from graphtide_runtime.memory import MemoryLog
from graphtide_testing.found import keys_in_json_lines
from graphtide_testing.mortal import Fuse, KilledError, Mortal
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.records import to_json_lines
from graphtide_testing.strategies import StreamShape, edge_streams, patterns
from graphtide_wire import control, ordered
from graphtide_wire.plan_form import form_of
from graphtide_wire.topics import Topics
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.ports.log import Log

TOPICS = Topics("test")
FAST = HostSettings(linger_seconds=0.0, most_records=2, checkpoint_seconds=0.0, figures_seconds=0.0)
ATTRIBUTES = ["n", "m", "s", "t"]


@dataclass
class World:
    """A log with a stream, a planner's hand, and a host that can be killed."""

    stream: StreamName
    log: Log = field(default_factory=MemoryLog)
    checkpoints: MemoryCheckpoints = field(default_factory=MemoryCheckpoints)
    symbols: Symbols = field(default_factory=Symbols)
    sent: list[tuple[int, Edge]] = field(default_factory=list)
    fuse: Fuse = field(default_factory=Fuse)
    host: MatcherHost | None = None
    epoch: int = 0

    def __post_init__(self) -> None:
        self.log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(self.stream)])
        self.writer = self.log.writer()

    def end(self) -> int:
        place = TopicPartition(TOPICS.ordered(self.stream), 0)
        return self.log.reader(None).ends([place])[place][1]

    def send(self, edges: Sequence[Edge]) -> None:
        """Write edges as one ordered record."""
        if not edges:
            return
        batch = JsonLinesDecoder(self.symbols, ATTRIBUTES, {}).decode(to_json_lines(edges))
        figures = ordered.OrderedFigures(
            first_ts=edges[0].ts,
            last_ts=edges[-1].ts,
            records=len(edges),
            ordinal=len(self.sent),
            watermark=edges[-1].ts,
            unit=TimeUnit.MILLISECOND,
        )
        self.sent += [(self.end(), edge) for edge in edges]
        self.writer.write([ordered.encode(TOPICS.ordered(self.stream), figures, batch.to_arrow())])

    def plan(self, pattern: SubgraphPattern, engine: str, *, service: str = "matcher_timing", **more: Any) -> None:
        """Write a plan as the planner would."""
        self.epoch += 1
        record = control.PlanRecord(
            name=pattern.name,
            version=pattern.version,
            epoch=self.epoch,
            engine=engine,
            service=service,
            shard=0,
            plan=form_of(plan(pattern, engine).physical),
            pattern=control.PatternText(print_pattern(pattern)),
            **({"desired": "running"} | more),
        )
        self.writer.write([Message(TOPICS.plans, pattern.name.encode(), control.encode_plan(record))])

    def forget(self, pattern: SubgraphPattern) -> None:
        """Delete a plan."""
        self.writer.write([Message(TOPICS.plans, pattern.name.encode(), None)])

    def new_host(self, service: str = "matcher_timing") -> MatcherHost:
        """Return a host whose calls burn the fuse."""
        records = WireRecords(TOPICS, service, 0, SystemClock())
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
        self.live(len(self.sent) + 4)

    def matches(self) -> list[str]:
        """Return what consumers got, in any order."""
        reader = self.log.reader(None)
        reader.assign({TopicPartition(TOPICS.matches, 0): 0})
        lines = [record.value or b"" for record in reader.poll(0, 10**6)]
        return sorted(map(repr, keys_in_json_lines(b"\n".join(lines))))

    def expected(self, pattern: SubgraphPattern, start: int, end: int | None = None) -> list[str]:
        """Return what is to be reported of a pattern that runs from an offset on, up to another."""
        oracle, found, told = SubgraphOracle(pattern), [], set()
        for offset, edge in self.sent:
            for match in oracle.push(edge):
                if offset >= start and (end is None or offset < end) and (match.kind == "match" or match.match_id in told):
                    found.append(repr(match))
                    told.add(match.match_id)
        return sorted(found)

    def said(self) -> dict[str, control.StatusRecord]:
        """Return the last that was said of every pattern."""
        reader = self.log.reader(None)
        reader.assign({TopicPartition(TOPICS.status, 0): 0})
        return {each.name: each for each in (control.decode_status(record.value) for record in reader.poll(0, 10**6))}

    def states(self) -> dict[str, str]:
        """Return the last state of every pattern."""
        return {name: said.state for name, said in self.said().items()}


def is_in_the_language(pattern: SubgraphPattern) -> bool:
    """Engines take some patterns that no text says; plans carry texts."""
    try:
        parse(print_pattern(pattern))
    except InvalidPatternError:
        return False
    return True


def named(pattern: SubgraphPattern, name: str) -> SubgraphPattern:
    return replace(pattern, name=PatternName(name), stream=StreamName("s"))


PATTERNS = patterns().filter(is_in_the_language)
STREAMS = edge_streams(StreamShape(duplicates=False), min_records=4)
CHOICES = st.randoms(use_true_random=False)


@given(STREAMS, PATTERNS, PATTERNS, CHOICES)
def test_every_match_is_reported_once_whenever_the_host_is_killed(
    edges: tuple[Edge, ...], first: SubgraphPattern, second: SubgraphPattern, rng: Any
) -> None:
    first, second = named(first, "one"), replace(named(second, "two"), version=3)
    world = World(first.stream)
    starts: dict[str, int] = {}
    rest = list(edges)
    while rest:
        size = rng.randint(1, 4)
        world.send(rest[:size])
        rest = rest[size:]
        for pattern in (first, second):
            if pattern.name not in starts and rng.random() < 0.4:
                starts[pattern.name] = world.end()
                world.plan(pattern, rng.choice(ENGINES), start=world.end())
            elif pattern.name in starts and rng.random() < 0.15:
                # Another engine, in place.
                world.plan(pattern, rng.choice(ENGINES), start=starts[pattern.name])
        world.fuse.length = rng.randint(1, 60)
        world.live(rng.randint(0, 3))
    world.settle()

    expected = [found for each in (first, second) if each.name in starts for found in world.expected(each, starts[each.name])]
    assert world.matches() == sorted(expected)
    assert set(world.states().values()) <= {"running"}


@given(STREAMS, PATTERNS, CHOICES)
def test_a_pattern_that_moves_to_another_host_is_matched_without_a_gap(
    edges: tuple[Edge, ...], pattern: SubgraphPattern, rng: Any
) -> None:
    pattern = named(pattern, "one")
    world = World(pattern.stream)
    cut = rng.randint(0, len(edges))
    world.plan(pattern, "timing", start=0)
    for edge in edges[:cut]:
        world.send([edge])
    world.live(rng.randint(0, cut + 2))
    world.plan(pattern, "timing", desired="stopped", start=0)
    world.settle()
    stopped = stopped_at(world)
    for edge in edges[cut:]:
        world.send([edge])
    other = world.new_host("matcher_sjtree")
    other.open()
    other.step()
    world.plan(pattern, "sj-tree", service="matcher_sjtree", start=0, reported_to=stopped)
    for _ in range(len(edges) + 4):
        other.step()
    world.settle()
    assert world.matches() == world.expected(pattern, 0)


def stopped_at(world: World) -> int:
    reader = world.log.reader(None)
    reader.assign({TopicPartition(TOPICS.status, 0): 0})
    said = [control.decode_status(record.value) for record in reader.poll(0, 10**6)]
    assert said[-1].state == "stopped"
    assert said[-1].start is not None
    return said[-1].start


def edge_pattern() -> SubgraphPattern:
    (pattern,) = parse("PATTERN one MATCH (a)-[x:k]->(b)-[y:k]->(c) ON s WINDOW 100")
    return pattern


def k(number: int, source: str, target: str) -> Edge:
    return Edge(EdgeId(f"e{number}"), EventTime(number), VertexId(source), VertexId(target), "k")


def test_the_second_host_of_an_identity_shuts_the_first_out() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    first, second = world.new_host(), world.new_host()
    first.open()
    second.open()
    world.send([k(1, "a", "b"), k(2, "b", "c")])
    with pytest.raises(FencedError):
        first.step()
    second.step()
    second.step()
    assert world.matches() == world.expected(edge_pattern(), 0)


def test_a_record_that_cannot_be_read_is_put_aside_and_the_rest_goes_on() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(1, "a", "b")])
    world.writer.write([Message(TOPICS.ordered(world.stream), None, b"no arrow", partition=0)])
    world.send([k(2, "b", "c")])
    world.settle()
    assert len(world.matches()) == 1
    reader = world.log.reader(None)
    reader.assign({TopicPartition(TOPICS.dead_letters(world.stream), 0): 0})
    (letter,) = reader.poll(0, 10)
    assert letter.value == b"no arrow"


def test_a_plan_of_a_format_to_come_fails_and_others_run() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    strange = b'{"name":"new","version":1,"epoch":7,"service":"matcher_timing","shard":0,"format":99}'
    world.writer.write([Message(TOPICS.plans, b"new", strange)])
    world.send([k(1, "a", "b"), k(2, "b", "c")])
    world.settle()
    assert world.states() == {"one": "running", "new": "failed"}
    assert len(world.matches()) == 1


def test_checkpoints_that_are_lost_cost_time_and_nothing_else() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(1, "a", "b")])
    world.settle()
    world.checkpoints = MemoryCheckpoints()
    world.host = None
    world.send([k(2, "b", "c")])
    world.settle()
    assert len(world.matches()) == 1


class FullCheckpoints(MemoryCheckpoints):
    """A store that can be full."""

    is_full = True

    def save(self, key: str, manifest: bytes, added: Mapping[str, bytes], kept: Iterable[str]) -> None:
        if self.is_full:
            message = "no memory left"
            raise TransientError(message)
        super().save(key, manifest, added, kept)


def test_a_running_pattern_says_while_its_checkpoints_cannot_be_saved() -> None:
    checkpoints = FullCheckpoints()
    world = World(edge_pattern().stream, checkpoints=checkpoints)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(1, "a", "b")])
    world.settle()
    said = world.said()[edge_pattern().name]
    assert (said.state, said.reason) == ("running", "its checkpoints are not saved: no memory left")
    checkpoints.is_full = False
    world.send([k(2, "b", "c")])
    world.settle()
    said = world.said()[edge_pattern().name]
    assert (said.state, said.reason) == ("running", None)
    assert world.matches() == world.expected(edge_pattern(), 0)


def test_a_plan_that_starts_again_where_it_ended_repeats_nothing() -> None:
    world = World(edge_pattern().stream)
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(1, "a", "b"), k(2, "b", "c")])
    world.settle()
    world.plan(edge_pattern(), "timing", start=0, desired="paused")
    world.settle()
    world.plan(edge_pattern(), "timing", start=0)
    world.send([k(3, "c", "d")])
    world.settle()
    assert world.matches() == world.expected(edge_pattern(), 0)
