"""Every pattern gets a plan, and what is reported of it is one stretch of the stream, whatever happens to the planner."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pytest
from graphtide_core.errors import FencedError, InvalidQueryError
from graphtide_core.plans import AGGREGATION, Derivation, EventRates, Grouping, PathEngine
from graphtide_core.ports.log import Message, Record, TopicPartition
from graphtide_core.statistics import DegreeMoments, EdgeType, StatisticsSnapshot, TimeRange
from graphtide_core.time import EventTime
from graphtide_log.memory import MemoryLog
from graphtide_planner.application.board import Board
from graphtide_planner.application.planner import Planner, Rounds
from graphtide_planner.domain.decisions import decide
from graphtide_planner.domain.known import Known
from graphtide_planner.domain.passes import HostId
from graphtide_planner.domain.planning import PlanningPolicy, least_loaded, planned
from graphtide_planner.domain.spreading import Room
from graphtide_query import parse
from graphtide_query.estimates.budget import PlanningBudget
from graphtide_query.families import FAMILIES, SERVICES, VARIANTS
from graphtide_query.reads import reads_of
from graphtide_serving.clock import SystemClock
from graphtide_testing.mortal import Fuse, KilledError, Mortal
from graphtide_testing.registrations import registration
from graphtide_testing.work import calls
from graphtide_wire import control, reads_form, statistics
from graphtide_wire.plans import form_of
from graphtide_wire.topics import Topics
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_planner.domain.decisions import Decision

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


def events_text(name: str) -> str:
    """An event pattern."""
    return f"PATTERN {name} SEQ(a:k, b:l) ON s WITHIN 100ms"


def event_pattern(name: str = "p", **changes: Any) -> control.PatternRecord:
    """A registration of an event pattern."""
    return registration(events_text(name), AT, **{"start": 10, **changes})


QUERY = "QUERY p Answer(x, m, z) <- k(x, m), l(m, y), o(y, z). ON s WINDOW(500)"


def query(text: str = QUERY, **changes: Any) -> control.PatternRecord:
    """A registration of a graph query."""
    options = control.PatternOptions(changes.pop("engine", "auto"))
    return registration(text, AT, **{"start": 10, "options": options, **changes})


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
    """A stream of 100,000 edges of which almost none is of one type."""
    counts = {EdgeType(None, label, None): (10 if label == rare else 99_990) for label in ("k", "l")}
    degrees = DegreeMoments(1_000, 100_000, 10_000_000, 200)
    window = TimeRange(EventTime(0), EventTime(1_000))
    return StatisticsSnapshot(version, window, EventTime(0), EventTime(999), 100_000, 1_000, counts, None, degrees, degrees)


def even() -> StatisticsSnapshot:
    """A stream of which every tenth edge is of one type and every tenth of the other: alone, no engine is much better."""
    counts = {EdgeType(None, label, None): number for label, number in (("k", 10_000), ("l", 10_000), ("o", 80_000))}
    return replace(snapshot("k"), types=counts)


def rates(version: int = 1, **counts: int) -> StatisticsSnapshot:
    """A stream with so many edges of each type."""
    return replace(even(), version=version, types={EdgeType(None, label, None): count for label, count in counts.items()})


def consumed_at(end: int) -> control.FrontierForm:
    """Return how far a plan had consumed that ended at an offset, as hosts say here."""
    return control.FrontierForm(end, 1)


@dataclass
class World:
    """A log, a planner that can be killed, and hosts that do as they are told."""

    log: MemoryLog = field(default_factory=MemoryLog)
    fuse: Fuse = field(default_factory=Fuse)
    planner: Planner | None = None
    policy: PlanningPolicy = POLICY
    board: Board | None = None
    offset: int = 20
    hosts: dict[tuple[str, int], dict[str, control.StatusRecord]] = field(default_factory=dict)
    begun: dict[tuple[str, int, str], int] = field(default_factory=dict)
    """The offset from which each host reports each pattern, by service, shard and name."""
    reported: dict[tuple[str, int], list[tuple[int, int]]] = field(default_factory=dict)
    """Stretches of the ordered stream that were reported, by pattern and version."""

    def __post_init__(self) -> None:
        self.log.admin().ensure(TOPICS.of_deployment())
        self.writer = self.log.writer()

    def register(self, record: control.PatternRecord) -> None:
        self.writer.write([Message(TOPICS.patterns, record.name.encode(), control.encode_pattern(record))])

    def delete(self, name: str) -> None:
        self.writer.write([Message(TOPICS.patterns, name.encode(), None)])

    def count(self, found: StatisticsSnapshot) -> None:
        value = statistics.encode_statistics(statistics.StatisticsRecord("s", found.version, found))
        self.writer.write([Message(TOPICS.statistics, b"s", value)])

    def new_planner(self) -> Planner:
        mortal: Any = Mortal(self.log, self.fuse)
        return Planner(mortal, TOPICS, SystemClock(), self.policy, FAST, board=self.board)

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
        said = [record.value for record in self.read(TOPICS.status) if record.key == f"{name}@planner.0".encode()]
        return control.decode_status(said[-1]).reason if said and said[-1] is not None else None

    def host(self, service: str, shard: int) -> None:
        """Let a host go on to the stream's end and then do as plans say, as `graphtide_matcher_host` does."""
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
        stretch = (self.begun[status.service, status.shard, status.name], end)
        self.reported.setdefault((status.name, status.version), []).append(stretch)

    def say(
        self, plan: control.PlanRecord, state: Literal["running", "paused", "stopped", "failed"], start: int | None
    ) -> None:
        frontier = msgspec.UNSET if start is None or state == "running" else consumed_at(start)
        status = control.StatusRecord(
            plan.name, plan.version, plan.epoch, plan.service, plan.shard, state, AT, None, start, frontier=frontier
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
        """Let the planner and all hosts come to rest."""
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


@pytest.fixture
def world() -> World:
    return World()


def test_a_pattern_is_planned_where_the_stream_ended_when_it_was_registered(world: World) -> None:
    world.register(pattern())
    world.settle()
    plan = world.plans()["p"]
    assert (plan.engine, plan.service, plan.epoch, plan.start, plan.desired) == ("timing", "matcher_timing", 1, 10, "running")
    assert plan.plan.considered[0].physical == plan.plan.physical


def test_every_engine_of_patterns_has_a_service() -> None:
    assert sorted(SERVICES) == sorted(VARIANTS)


@pytest.mark.parametrize("engine", SERVICES)
def test_the_engine_decides_the_service(world: World, engine: str) -> None:
    simulated = registration(text("p") + " UNDER DUAL SIMULATION", AT, start=10, options=control.PatternOptions(engine))
    of_events = registration(events_text("p"), AT, start=10, options=control.PatternOptions(engine))
    others = {AGGREGATION: of_events, **dict.fromkeys(FAMILIES["simulation"].names, simulated)}
    others |= {each.value: query(engine=engine) for each in PathEngine}
    world.register(others.get(engine, pattern(engine=engine)))
    world.settle()
    assert world.plans()["p"].service == SERVICES[engine]


def test_an_event_pattern_is_told_how_to_be_grouped_with_what_is_known_of_its_events(world: World) -> None:
    world.count(snapshot("k"))
    world.register(event_pattern())
    world.settle()
    plan = world.plans()["p"]
    assert (plan.engine, plan.service, plan.start) == (AGGREGATION, "matcher_event_pattern", 10)
    found, (considered,) = plan.plan.physical, plan.plan.considered
    assert found == Grouping("auto", EventRates(1_000, 100_000, (("k", 10), ("l", 99_990))))
    assert considered.nanoseconds > 0


def test_an_event_pattern_is_grouped_anew_where_its_events_come_much_more_often_and_not_before(world: World) -> None:
    world.count(snapshot("k"))
    world.register(event_pattern())
    world.settle()
    first = world.plans()["p"]
    world.count(snapshot("k", 2))
    world.settle()
    assert world.plans()["p"] == first
    world.count(snapshot("l", 3))
    world.settle()
    second = world.plans()["p"]
    assert (second.epoch, second.service, second.shard) == (first.epoch + 1, first.service, first.shard)
    assert second.plan.physical != first.plan.physical


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (event_pattern(options=control.PatternOptions("timing")), "is not for event patterns"),
        (pattern(engine=AGGREGATION), "is not for patterns under isomorphism"),
        (pattern(engine="s-path"), "is not for patterns under isomorphism"),
        (query(engine="timing"), "is not for streaming graph queries"),
    ],
)
def test_an_engine_of_another_family_is_refused(world: World, record: control.PatternRecord, reason: str) -> None:
    world.register(record)
    world.settle()
    assert world.plans() == {}
    assert reason in (world.refusal("p") or "")


def test_the_plan_of_a_graph_query_is_sent_as_the_way_to_it_with_those_that_it_was_chosen_from(world: World) -> None:
    world.count(even())
    world.register(query("QUERY p Answer(x, y) <- /(:k :l)+/(x, y). ON s WINDOW(500)"))
    world.settle()
    plan = world.plans()["p"]
    assert (plan.engine, plan.service, plan.start) == ("s-path", "matcher_algebra", 10)
    found, considered = plan.plan.physical, plan.plan.considered
    assert isinstance(found, Derivation)
    assert considered[0].physical == found
    assert considered[0].nanoseconds > 0
    assert len(considered) > 1
    assert len(control.encode_plan(plan)) < 10_000


def test_a_graph_query_is_planned_anew_where_that_is_much_cheaper_and_by_the_engine_that_is_wished(world: World) -> None:
    world.count(rates(k=10, l=10_000, o=89_990))
    world.register(query())
    world.settle()
    first = world.plans()["p"]
    world.count(rates(2, k=10, l=10_000, o=89_990))
    world.settle()
    assert world.plans()["p"] == first
    world.count(rates(3, k=89_990, l=10_000, o=10))
    world.settle()
    second = world.plans()["p"]
    assert (second.epoch, second.service, second.shard) == (first.epoch + 1, first.service, first.shard)
    assert second.plan.physical != first.plan.physical
    world.register(query(engine="delta-tree"))
    world.settle()
    third = world.plans()["p"]
    assert (third.engine, third.epoch, third.shard) == ("delta-tree", second.epoch + 1, second.shard)
    assert third.plan.physical.name == "delta-tree"


def test_a_graph_query_over_several_streams_is_planned_on_what_they_are_merged_to(world: World) -> None:
    inputs = "INPUT a = ()-[:a]->() ON s WINDOW(5) INPUT b = ()-[:b]->() ON other WINDOW(5)"
    text = f"QUERY p {inputs} Answer(x, z) <- a(x, y), b(y, z)."
    reads = reads_form.form_of(reads_of(parse(text)[0]))
    world.register(msgspec.structs.replace(query(), text=text, stream="other.s", reads=reads))
    world.settle()
    assert {name: plan.service for name, plan in world.plans().items()} == {"p": "matcher_algebra"}


def test_without_its_service_a_graph_query_is_refused() -> None:
    with pytest.raises(InvalidQueryError, match="no service runs the engine 's-path'"):
        planned(query(), Known(), replace(POLICY, shards={"matcher_timing": 1}))


def test_patterns_spread_over_the_shards_of_a_service(world: World) -> None:
    for number in range(4):
        world.register(pattern(f"p{number}", text=text(f"p{number}")))
    world.settle()
    assert sorted(plan.shard for plan in world.plans().values()) == [0, 0, 1, 1]


def test_patterns_that_are_equal_but_for_their_names_have_one_plan_on_one_host(world: World) -> None:
    for number in range(6):
        world.register(like(f"p{number}", "auto"))
    world.register(like("q", "filtering"))
    world.register(like("r", "auto", limits=control.LimitsForm(partial_matches=7)))
    world.register(registration(alike("s") + "0", AT, start=10))
    world.settle()
    plans = world.plans()
    assert len({(plans[f"p{number}"].shard, plans[f"p{number}"].plan) for number in range(6)}) == 1
    assert {plans[name].shard for name in "qrs"} - {plans["p0"].shard}, "others are spread"
    # A new one goes where those like it are, though it is the more loaded shard, and without a look at the stream.
    world.register(like("a", "auto"))
    world.count(snapshot("k"))
    world.settle()
    world.count(snapshot("l", 2))
    world.settle()
    moved = world.plans()
    assert moved["p0"].plan.physical != plans["p0"].plan.physical
    names = ["a", *(f"p{number}" for number in range(6))]
    assert len({(moved[name].service, moved[name].shard, moved[name].plan.physical) for name in names}) == 1


def test_what_is_asked_of_the_first_alone_is_not_asked_of_those_like_it(world: World) -> None:
    for name in "abc":
        world.register(like(name))
    world.settle()
    for name in "bc":
        world.register(like(name, "auto"))
    world.settle()
    # What was asked of the first is not what is asked of the others.
    world.register(like("a", "filtering"))
    world.settle()
    world.delete("b")
    world.settle()
    assert {name: plan.engine for name, plan in world.plans().items()} == {"a": "filtering", "c": "timing"}


def test_a_host_bears_the_load_of_equal_patterns_once() -> None:
    known = Known()
    for number, (cost, written) in enumerate([(3.0, alike), (5.0, alike), (7.0, text), (2.0, alike)]):
        name = f"p{number}"
        plan = msgspec.structs.replace(planned_at(name, 0, cost), pattern=control.PatternText(written(name)))
        known.take_plan(name, plan)
    host = HostId("matcher_timing", 0)
    assert known.load(host) == 12_000
    known.take_plan("p1", None)
    assert known.load(host) == 10_000
    for name in ("p0", "p2", "p3"):
        known.take_plan(name, None)
    assert known.load(host) == 0


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (pattern(text="PATTERN p MATCH (a)-[x]->(b ON s WINDOW 10"), "line 1, column"),
        (pattern(engine="guess"), "there is no engine 'guess'"),
        (pattern(text=text("q")), "it was registered as 'p'"),
        (pattern(text=text("p", "t")), "on 't'"),
        (pattern(text=text("p") + "\n" + text("q")), "holds one pattern"),
        (pattern(text=text("p").replace("WINDOW 100", "WINDOW 1000")), "reads something else than was registered"),
    ],
)
def test_a_pattern_that_cannot_be_planned_is_refused_until_it_can(
    world: World, record: control.PatternRecord, reason: str
) -> None:
    world.register(record)
    world.settle()
    assert world.plans() == {}
    assert reason in (world.refusal("p") or "")
    world.register(pattern(version=2))
    world.settle()
    assert world.refusal("p") is None
    assert world.plans()["p"].version == 2


def test_a_pattern_that_exceeds_the_budget_of_planning_is_refused_and_others_are_planned() -> None:
    world = World()
    spokes = ", ".join(f"(hub)-[e{number}:k]->(v{number})" for number in range(24))
    ordered = " < ".join(f"e{number}" for number in range(24))
    star = f"PATTERN star MATCH {spokes} ORDER {ordered} ON s WINDOW 100"
    world.register(registration(star, AT, options=control.PatternOptions("timing")))
    world.register(pattern("small"))
    world.policy = replace(POLICY, budget=PlanningBudget(most=1_000))

    world.settle()

    assert "'star' cannot be planned within its budget of 1,000 units of work; split it" in (world.refusal("star") or "")
    assert [plan.name for plan in world.plans().values()] == ["small"]

    world.policy, world.planner = POLICY, None
    world.settle()
    assert set(world.plans()) == {"star", "small"}


@pytest.mark.parametrize(
    "text",
    [
        f"q(x, y) <- /{':a? ' * 24}:b/(x, y). ON s WINDOW(1h)",
        f"q(x, y) <- /{'(:a|:b)* ' * 20}:c/(x, y). ON s WINDOW(1h)",
        f"q(x, y) <- /{':a? ' * 200}:b/(x, y). ON s WINDOW(1h)",
    ],
)
def test_a_hostile_query_delays_others_by_no_more_than_its_budget(world: World, text: str) -> None:
    world.register(registration(text, AT))
    world.register(pattern("small"))

    assert calls(world.settle, 25_000_000)

    assert set(world.plans()) == {"q", "small"}
    world.delete("q")
    world.settle()
    assert set(world.plans()) == {"small"}


def test_a_registration_that_is_damaged_is_refused_and_others_are_planned(world: World) -> None:
    world.writer.write([Message(TOPICS.patterns, b"bad", b"{")])
    world.register(pattern())
    world.settle()
    assert list(world.plans()) == ["p"]
    assert "cannot be read" in (world.refusal("bad") or "")


def test_a_registration_that_does_not_say_what_it_reads_loses_its_plan_until_it_does(world: World) -> None:
    world.register(pattern())
    world.settle()
    older = {name: value for name, value in msgspec.to_builtins(pattern()).items() if name != "reads"}
    world.writer.write([Message(TOPICS.patterns, b"p", msgspec.json.encode(older))])
    world.settle()
    assert world.plans() == {}
    assert "missing required field `reads`" in (world.refusal("p") or "")
    world.register(pattern())
    world.settle()
    assert (list(world.plans()), world.refusal("p")) == (["p"], None)


def test_a_pattern_that_is_deleted_has_no_plan_and_one_of_its_name_gets_a_later_epoch(world: World) -> None:
    world.register(pattern())
    world.settle()
    world.delete("p")
    world.settle()
    assert world.plans() == {}
    world.planner = None
    world.register(pattern(version=2))
    world.settle()
    assert world.plans()["p"].epoch == 2


def test_a_pause_leaves_a_gap_that_the_user_asked_for(world: World) -> None:
    world.register(pattern())
    world.settle()
    world.register(pattern(state="paused"))
    world.settle()
    assert world.plans()["p"].desired == "paused"
    world.offset = 40
    world.register(pattern(start=35))
    world.settle()
    assert world.stretches("p") == [(10, 20), (35, 40)]
    assert world.plans()["p"].frontier is msgspec.UNSET


def test_a_pattern_that_goes_on_where_it_was_paused_has_consumed_what_it_had_then(world: World) -> None:
    world.register(pattern())
    world.settle()
    world.register(pattern(state="paused"))
    world.settle()
    world.register(pattern(start=20))
    world.settle()
    plan = world.plans()["p"]
    assert (plan.start, plan.frontier) == (20, consumed_at(20))


def test_another_engine_of_the_service_takes_over_in_place(world: World) -> None:
    world.register(pattern())
    world.settle()
    world.register(pattern(engine="filtering"))
    world.offset = 30
    world.settle()
    plan = world.plans()["p"]
    assert (plan.engine, plan.epoch, plan.shard) == ("filtering", 2, 0)
    assert world.stretches("p") == [(10, 30)]


def test_another_service_takes_over_where_the_first_has_stopped(world: World) -> None:
    world.register(pattern())
    world.settle()
    world.register(pattern(engine="sj-tree"))
    world.plan()
    assert (world.plans()["p"].service, world.plans()["p"].desired) == ("matcher_timing", "stopped")
    world.offset = 33
    world.settle()
    plan = world.plans()["p"]
    assert (plan.service, plan.desired, plan.start, plan.reported_to) == ("matcher_sjtree", "running", 10, 33)
    assert plan.came_from == control.HostName("matcher_timing", 0)
    assert plan.frontier == consumed_at(33)
    assert world.stretches("p") == [(10, 33), (33, 33)]


def test_a_new_version_follows_the_old_one_without_a_gap(world: World) -> None:
    world.register(pattern())
    world.settle()
    world.register(pattern(version=2, start=25))
    world.offset = 30
    world.settle()
    assert world.stretches("p") == [(10, 30)]
    assert world.stretches("p", 2) == [(30, 30)]
    assert world.plans()["p"].frontier is msgspec.UNSET


def test_a_new_version_waits_until_a_host_that_lags_has_come_to_its_start(world: World) -> None:
    world.register(pattern())
    world.settle()
    world.register(pattern(version=2, start=32))
    world.plan()
    assert (world.plans()["p"].version, world.plans()["p"].desired, world.plans()["p"].until) == (1, "stopped", 32)
    world.settle()
    assert world.plans()["p"].start == 32
    assert world.stretches("p") == [(10, 32)]


def test_a_new_version_that_comes_while_the_old_one_moves_loses_nothing_of_the_old_one(world: World) -> None:
    world.register(pattern())
    world.settle()
    world.register(pattern(engine="sj-tree"))
    world.plan()
    assert (world.plans()["p"].desired, world.plans()["p"].until) == ("stopped", None)
    world.host("matcher_timing", 0)
    world.register(pattern(version=2, start=32, engine="sj-tree"))
    world.settle()
    assert (world.plans()["p"].version, world.plans()["p"].start) == (2, 32)
    assert world.stretches("p") == [(10, 20), (20, 32)]


def test_a_pattern_that_was_deleted_and_registered_again_starts_where_it_was_registered(world: World) -> None:
    world.register(pattern(registration=1))
    world.settle()
    world.planner = None
    world.delete("p")
    world.register(pattern(version=2, start=32, registration=2))
    world.offset = 33
    world.settle()
    plan = world.plans()["p"]
    assert (plan.version, plan.start, plan.reported_to) == (2, 32, None)
    assert world.stretches("p", 2) == [(32, 33)]


def test_a_pattern_that_was_deleted_and_registered_again_and_paused_leaves_no_plan_of_the_deleted_one(world: World) -> None:
    world.register(pattern(registration=1))
    world.settle()
    world.planner = None
    world.delete("p")
    world.register(pattern(version=2, start=32, registration=2, state="paused"))
    world.settle()
    assert world.plans() == {}
    world.offset = 50
    world.register(pattern(version=2, start=45, registration=2))
    world.settle()
    assert world.stretches("p", 2) == [(45, 50)]


def test_rubbish_in_the_topic_of_plans_is_put_right(world: World) -> None:
    world.register(pattern())
    world.settle()
    held = world.plans()["p"]
    world.writer.write([Message(TOPICS.plans, b"p", b"{"), Message(TOPICS.plans, b"nobody", b"{")])
    world.plan()
    values = {record.key: record.value for record in world.read(TOPICS.plans)}
    assert values[b"nobody"] is None
    found = control.decode_plan(values[b"p"])
    assert isinstance(found, control.PlanRecord)
    assert (found.plan, found.shard, found.start, found.epoch) == (held.plan, held.shard, held.start, 2)


def test_a_plan_that_was_spoilt_while_the_planner_was_down_goes_on_at_its_host(world: World) -> None:
    world.register(registration(text("a1"), AT, start=10))
    world.register(pattern())
    world.settle()
    assert world.plans()["p"].shard == 1
    world.delete("a")
    world.planner = None
    world.writer.write([Message(TOPICS.plans, b"p", b"{")])
    world.plan()
    found = control.decode_plan({record.key: record.value for record in world.read(TOPICS.plans)}[b"p"])
    assert isinstance(found, control.PlanRecord)
    assert (found.service, found.shard, found.start) == ("matcher_timing", 1, 10)


def test_what_is_wrong_with_one_pattern_keeps_nobody_else_waiting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(record: control.PatternRecord, *others: Any) -> Any:
        if record.name == "bad":
            raise ZeroDivisionError
        return planned(record, *others)

    monkeypatch.setattr("graphtide_planner.domain.decisions.planned", fails)
    world.register(pattern("bad", text=text("bad")))
    world.register(pattern())
    world.settle()
    assert list(world.plans()) == ["p"]
    assert "ZeroDivisionError" in (world.refusal("bad") or "")


def test_what_a_limit_ended_stays_so_until_its_user_changes_something(world: World) -> None:
    world.register(pattern())
    world.settle()
    world.limit("p")
    world.count(snapshot("k"))
    world.settle()
    assert world.plans()["p"].epoch == 1
    world.offset = 50
    world.register(pattern(start=45, limits=control.LimitsForm(partial_matches=5)))
    world.settle()
    assert world.stretches("p") == [(10, 20), (45, 50)]


def test_a_plan_changes_when_the_stream_does_and_then_stays(world: World) -> None:
    world.register(pattern(engine="auto"))
    world.count(snapshot("k"))
    world.settle()
    first = world.plans()["p"]
    world.count(snapshot("l", 2))
    world.settle()
    second = world.plans()["p"]
    assert second.plan.physical != first.plan.physical
    world.count(snapshot("l", 3))
    world.settle()
    assert world.plans()["p"] == second
    assert len({end for _, end in world.stretches("p")}) == 1


def test_a_crowd_leaves_timing_as_far_as_that_is_worth_it() -> None:
    """Lists of their own push each other out of cache: those that stay are few enough not to."""
    world = World(policy=PlanningPolicy({"matcher_timing": 1}))
    world.count(even())
    names = [f"p{number}" for number in range(40)]
    for engine in ("timing", "auto"):
        for name in names:
            world.register(pattern(name, engine=engine))
        for _ in range(3):
            world.settle()
        stay = {name for name, plan in world.plans().items() if plan.engine == "timing"}
        if engine == "timing":
            assert stay == set(names)
    assert 0 < len(stay) < 20
    settled = world.plans()
    world.planner = None
    world.settle()
    assert world.plans() == settled, "nobody comes back"


def test_a_pattern_leaves_timing_when_a_crowd_comes_though_the_stream_stays_as_it_is() -> None:
    world = World(policy=PlanningPolicy({"matcher_timing": 1}))
    world.count(even())
    for engine in ("timing", "auto"):
        world.register(pattern(engine=engine))
        world.settle()
    assert world.plans()["p"].engine == "timing"
    for number in range(40):
        world.register(pattern(f"q{number}", engine="timing"))
    for _ in range(3):
        world.settle()
    assert {plan.engine for name, plan in world.plans().items() if name != "p"} == {"timing"}
    assert world.plans()["p"].engine == "filtering"


@pytest.mark.parametrize(
    ("stream", "shard", "engine", "leaves"),
    [("s", 0, "timing", True), ("t", 0, "timing", False), ("s", 1, "timing", False), ("s", 0, "filtering", False)],
)
def test_a_crowd_is_of_one_stream_at_one_host_by_one_engine(stream: str, shard: int, engine: str, *, leaves: bool) -> None:
    known = Known()
    known.take_statistics("s", even())
    known.take_pattern("p", pattern(engine="auto"))
    for number in range(100):
        other = planned_at(f"q{number}", shard, 1.0)
        written = control.PatternText(text(other.name, stream))
        known.take_plan(other.name, msgspec.structs.replace(other, engine=engine, pattern=written))
    known.take_plan("p", planned_at("p", 0, 1.0))
    assert [type(each).__name__ for each in decide("p", known, POLICY)] == (["Publish"] if leaves else [])


def test_a_registration_has_no_other_pattern_decided_on(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    """Nor do figures that hosts tell, and snapshots that say the same of the stream."""
    decided: list[str] = []

    def counted(name: str, known: Known, policy: PlanningPolicy) -> list[Decision]:
        decided.append(name)
        return decide(name, known, policy)

    monkeypatch.setattr("graphtide_planner.application.planner.decide", counted)
    world.count(snapshot("k"))
    for number in range(70):
        world.register(pattern(f"p{number}", engine="auto"))
    for _ in range(3):
        world.settle()
    assert len(decided) < 10 * 70
    decided.clear()
    for said in world.hosts.values():
        for status in said.values():
            told = msgspec.structs.replace(status, matches=7, position=99)
            world.writer.write([Message(TOPICS.status, control.status_key(told), control.encode_status(told))])
    world.count(snapshot("k", 2))
    world.register(pattern("new"))
    world.settle()
    assert set(decided) == {"new"}
    assert "new" in world.plans()


def test_a_snapshot_leads_to_decisions_on_patterns_of_labels_that_moved() -> None:
    known = Known()
    for name, label in (("p", "k"), ("q", "l"), ("r", "m")):
        known.take_pattern(name, registration(f"PATTERN {name} MATCH (a)-[x:{label}]->(b) ON s WINDOW 100", AT))
    known.take_pattern("any", registration("PATTERN any MATCH (a)-[x]->(b) ON s WINDOW 100", AT))
    assert known.take_statistics("s", snapshot("k")) == {"p", "q", "r", "any"}
    assert known.take_statistics("s", snapshot("k", 2)) == set()
    more = replace(snapshot("k", 3), types={**snapshot("k").types, EdgeType(None, "m", None): 500})
    assert known.take_statistics("s", more) == {"r", "any"}
    assert known.take_statistics("s", None) == {"p", "q", "r", "any"}


def test_the_second_planner_shuts_the_first_out(world: World) -> None:
    first, second = world.new_planner(), world.new_planner()
    first.open()
    second.open()
    world.register(pattern())
    with pytest.raises(FencedError):
        first.step()
    second.step()
    assert list(world.plans()) == ["p"]


def test_a_service_without_shards_gets_nothing() -> None:
    world = World()
    world.register(pattern(engine="sj-tree"))
    world.planner = Planner(world.log, TOPICS, SystemClock(), PlanningPolicy({"matcher_timing": 1}), FAST)
    world.planner.open()
    world.plan()
    assert world.refusal("p") == "no service runs the engine 'sj-tree'"


def test_a_plan_that_no_service_runs_is_not_taken_and_its_reason_says_so() -> None:
    world = World()
    world.register(pattern(engine="auto"))
    world.planner = Planner(world.log, TOPICS, SystemClock(), PlanningPolicy({"matcher_sjtree": 1}), FAST)
    world.planner.open()
    world.plan()
    (plan,) = world.plans().values()
    taken, *others = plan.plan.considered
    assert (plan.engine, taken.physical.name) == ("sj-tree", "sj-tree")
    assert " % for " in taken.reason
    assert {each.physical.name for each in others} == {"timing", "re-search", "filtering"}
    assert all(each.reason.startswith("not taken, as no service runs it; ") for each in others)


HOSTS = [(service, shard) for service, shards in POLICY.shards.items() for shard in range(shards)]


def something_happens(world: World, rng: Any) -> None:
    match rng.randint(0, 4):
        case 0:
            name = f"p{rng.randint(0, 2)}"
            world.register(pattern(name, text=text(name), engine=rng.choice(["auto", *FAMILIES["isomorphism"].names])))
        case 1:
            world.count(snapshot(rng.choice("kl")))
        case 2:
            world.host(*rng.choice(HOSTS))
        case _:
            world.offset += rng.randint(0, 5)


@given(st.integers(5, 40), st.randoms(use_true_random=False))
def test_nothing_is_lost_or_reported_twice_whenever_the_planner_is_killed(events: int, rng: Any) -> None:
    world = World()
    for _ in range(events):
        something_happens(world, rng)
        world.fuse.length = rng.randint(0, 60)
        world.plan(rng.randint(0, 3))
    world.settle()
    for name in world.plans():
        stretches = world.stretches(name)
        assert (stretches[0][0], stretches[-1][1]) == (10, world.offset)
        assert all(before[1] == after[0] for before, after in pairwise(stretches))


def shards_change(board: Board, rng: Any) -> None:
    """Let the last shard be there or not, let patterns leave it or not, and let loads be evened out now and then."""
    leaves = rng.random() < 0.4
    board.make_room({"matcher_timing": Room(1 if leaves else rng.choice([1, 2]), 2, 1 if leaves else None)})
    if rng.random() < 0.5:
        board.ask()


@given(st.integers(5, 20), st.randoms(use_true_random=False))
def test_nothing_is_lost_or_reported_twice_while_shards_come_and_go(events: int, rng: Any) -> None:
    world = World(board=Board({"matcher_timing": Room(2, 2)}))
    assert world.board is not None
    for _ in range(events):
        something_happens(world, rng)
        shards_change(world.board, rng)
        world.fuse.length = rng.randint(0, 60)
        world.plan(rng.randint(0, 3))
    world.board.make_room({"matcher_timing": Room(1, 2, 1)})
    world.settle()
    for name, plan in world.plans().items():
        assert plan.desired != "running" or HostId(plan.service, plan.shard) != HostId("matcher_timing", 1), "it has left"
        stretches = world.stretches(name)
        assert (stretches[0][0], stretches[-1][1]) == (10, world.offset)
        assert all(before[1] == after[0] for before, after in pairwise(stretches))


@given(st.integers(1, 15), st.randoms(use_true_random=False))
def test_a_planner_that_was_killed_publishes_what_one_that_was_not_does(events: int, rng: Any) -> None:
    seed = rng.random()
    published = []
    for is_killed in (False, True):
        world, story, fate = World(), Random(seed), Random(seed)
        for _ in range(events):
            something_happens(world, story)
            for _ in range(4 if is_killed else 0):
                world.fuse.length = fate.randint(1, 80)
                world.plan(3)
            world.fuse.length = 0
            world.plan()
        published.append([(record.key, record.value) for record in world.read(TOPICS.plans)])
    assert published[0] == published[1]


def test_a_planner_that_comes_back_finds_nothing_to_do(world: World) -> None:
    world.register(pattern(engine="auto"))
    world.register(pattern("q", text="no pattern"))
    world.count(snapshot("k"))
    world.settle()
    before = len(world.read(TOPICS.plans)) + len(world.read(TOPICS.status))
    world.planner = None
    world.settle()
    assert len(world.read(TOPICS.plans)) + len(world.read(TOPICS.status)) == before


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans(), st.floats(0, 1e6) | st.just(1.7e308)), max_size=30)
)
def test_loads_are_those_of_a_recount(changes: list[tuple[int, int, bool, float]]) -> None:
    known = Known()
    for number, shard, is_there, cost in changes:
        name = f"p{number}"
        known.take_pattern(name, pattern(name, stream=f"s{shard}") if is_there else None)
        known.take_plan(name, planned_at(name, shard, cost) if is_there else None)
        if shard == 2:
            known.take_damage(name)
    for shard in range(3):
        loads = [
            round(min(1e18, plan.plan.considered[0].nanoseconds * 1000)) for plan in known.plans.values() if plan.shard == shard
        ]
        assert known.load(HostId("matcher_timing", shard)) == sum(max(1, load) for load in loads)


def planned_at(name: str, shard: int, cost: float) -> control.PlanRecord:
    """A plan that runs on a shard and is estimated to cost so many nanoseconds an edge."""
    made = planned(pattern(name), Known(), POLICY)
    return control.PlanRecord(
        name=name,
        version=1,
        epoch=1,
        engine=made.engine,
        service="matcher_timing",
        shard=shard,
        plan=form_of(made.physical, (msgspec.structs.replace(made.considered[0], nanoseconds=cost),)),
        pattern=control.PatternText(text(name)),
        desired="running",
        unit=POLICY.unit.value,
    )


def test_patterns_that_cost_little_each_are_spread_over_the_shards() -> None:
    known = Known()
    for number in range(40):
        known.take_plan(f"p{number}", planned_at(f"p{number}", least_loaded("matcher_timing", known, POLICY), 0.02))
    assert [known.load(HostId("matcher_timing", shard)) for shard in (0, 1)] == [400, 400]
