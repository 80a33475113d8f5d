"""Replicas and patterns together: the planner and the scaler over one log, and what they ask of a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import FatalError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_log.memory import MemoryLog
from graphtide_planner.application.cluster import ConflictError, Replicas, ThrottledError
from graphtide_planner.application.planner import Planner, Rounds
from graphtide_planner.application.replica_exchange import ReplicaExchange
from graphtide_planner.application.scaler import Neighbours, Scaler, ScalingPlan
from graphtide_planner.bootstrap import workers
from graphtide_planner.domain.planning import PlanningPolicy
from graphtide_planner.domain.scaling import Aims, Bounds
from graphtide_planner.settings import PlannerSettings
from graphtide_serving.loop import run
from graphtide_testing.clock import ManualClock
from graphtide_testing.registrations import registration
from graphtide_testing.servers.kubernetes import NAMESPACE, KubernetesApi, KubernetesServer
from graphtide_testing.waiting import wait_until
from graphtide_wire import control, hosts
from graphtide_wire.topics import Topics
from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from graphtide_planner.application.scaler import Mode

TOPICS = Topics("test")
AT = datetime(2024, 1, 1, tzinfo=UTC)
SERVICE = "matcher_timing"
AIMS = Aims(out_after_seconds=30, in_after_seconds=60, rest_seconds=10, load_seconds=1000)
EVERY = 15.0


@dataclass
class FakeCluster:
    """A `Cluster` whose pods are ready when a test says so."""

    replicas: dict[str, Replicas] = field(default_factory=lambda: {SERVICE: Replicas(1, 1, "1")})
    asked: list[int] = field(default_factory=list)
    tried: list[int] = field(default_factory=list)
    refusal: Exception | None = None
    is_open: bool = False

    def open(self) -> None:
        self.is_open = True

    def seen(self) -> Mapping[str, Replicas]:
        return dict(self.replicas)

    def scale(self, service: str, replicas: int, seen: Replicas) -> None:
        if self.refusal is not None:
            refusal, self.refusal = self.refusal, None
            raise refusal
        assert seen == self.replicas[service]
        self.asked.append(replicas)
        self.replicas[service] = Replicas(replicas, min(replicas, seen.ready), seen.version + "x")

    def try_out(self, service: str, replicas: int, seen: Replicas) -> None:
        assert seen == self.replicas[service]
        self.tried.append(replicas)

    def be_ready(self) -> None:
        self.replicas = {service: replace(each, ready=each.asked) for service, each in self.replicas.items()}

    def close(self) -> None:
        self.is_open = False


@dataclass
class FakeLeadership:
    """A `Leadership` that a test gives and takes."""

    is_ours: bool = True
    releases: int = 0

    def hold(self) -> bool:
        return self.is_ours

    def release(self) -> None:
        self.releases += 1


class World:
    """A log in memory, a planner and a scaler that run in turn, and hosts that do at once as they are asked."""

    def __init__(self, mode: Mode = "on", most: int = 3) -> None:
        self.log, self.clock = MemoryLog(), ManualClock()
        self.log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(StreamName("s"))])
        self.writer = self.log.writer()
        self.cluster, self.leadership = FakeCluster(), FakeLeadership()
        plan = ScalingPlan(mode, {SERVICE: Bounds(1, most)}, AIMS, EVERY, linger_seconds=0.5)
        self.replica_exchange = ReplicaExchange(plan.shard_counts())
        policy = PlanningPolicy({"matcher_timing": 1})
        self.planner = Planner(self.log, TOPICS, self.clock, policy, Rounds(0.0, 50), replica_exchange=self.replica_exchange)
        neighbours = Neighbours(self.cluster, self.leadership, self.replica_exchange)
        self.scaler = Scaler(self.log, TOPICS, self.clock, neighbours, plan)
        self.said: dict[tuple[str, int], int] = {}
        self.silent: set[int] = set()
        self.busy: dict[int, float] = {}
        self.planner.open()
        self.scaler.open()

    def register(self, count: int) -> None:
        for number in range(count):
            text = f"PATTERN p{number} MATCH (a)-[x:k{number}]->(b)-[y:l]->(c) ORDER x < y ON s WINDOW 100"
            options = control.PatternOptions("timing")
            record = registration(text, AT, start=10, options=options)
            self.writer.write([Message(TOPICS.patterns, record.name.encode(), control.encode_pattern(record))])

    def records(self, topic: str) -> dict[bytes, bytes]:
        reader = self.log.reader(None)
        reader.assign({TopicPartition(topic, 0): 0})
        return {record.key or b"": record.value or b"" for record in reader.poll(0, 10**6)}

    def plans(self) -> list[control.PlanRecord]:
        found = [control.decode_plan(value) for value in self.records(TOPICS.plans).values()]
        return [plan for plan in found if isinstance(plan, control.PlanRecord)]

    def patterns_of(self) -> list[int]:
        """How many patterns each shard runs, up to the last that runs some."""
        shards = [plan.shard for plan in self.plans() if plan.desired == "running"]
        return [shards.count(shard) for shard in range(max(shards, default=-1) + 1)]

    def decided(self) -> hosts.ScalingRecord:
        found = hosts.decode_hosts(b"matcher_timing@scaling", self.records(TOPICS.hosts)[b"matcher_timing@scaling"])
        assert isinstance(found, hosts.ScalingRecord)
        return found

    def hosts_answer(self) -> None:
        for plan in self.plans():
            key = (plan.name, plan.shard)
            if plan.shard in self.silent or self.said.get(key) == plan.epoch:
                continue
            self.said[key] = plan.epoch
            start = plan.start if plan.desired == "running" else 20
            said = control.StatusRecord(
                plan.name, 1, plan.epoch, SERVICE, plan.shard, plan.desired, self.clock.now(), None, start, stream="s"
            )
            self.writer.write([Message(TOPICS.status, control.status_key(said), control.encode_status(said))])

    def run(self, seconds: float) -> None:
        """Let all run in turn for so long."""
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            for shard, busy in self.busy.items():
                if int(self.clock.monotonic() * 2) % 10 == 0:
                    said = hosts.HostRecord(SERVICE, shard, self.clock.now(), busy, 1000, (hosts.StreamPlace("s", 0, 0.0),))
                    self.writer.write([Message(TOPICS.hosts, hosts.host_key(said), hosts.encode_host(said))])
            self.planner.step()
            self.hosts_answer()
            self.scaler.step()


@pytest.fixture
def world() -> World:
    made = World()
    made.register(8)
    made.busy = {0: 0.9}
    return made


def grow(world: World) -> World:
    """Let there be two replicas with patterns on both."""
    world.run(100)
    world.cluster.be_ready()
    world.busy = {0: 0.5, 1: 0.5}
    world.run(60)
    return world


def test_a_host_that_has_too_much_to_do_gets_another_beside_it_and_patterns_move(world: World) -> None:
    world.run(100)
    assert world.cluster.asked == [2]
    assert world.patterns_of() == [8], "a replica that is not ready gets none"
    assert "1 of 2 replicas are ready" in world.decided().reason
    world.cluster.be_ready()
    world.busy = {0: 0.5, 1: 0.5}
    world.run(60)
    assert world.patterns_of() == [4, 4]
    assert {plan.reported_to for plan in world.plans() if plan.shard == 1} == {20}, "they continue where the first host stopped"
    assert (world.decided().wanted, world.decided().replicas, world.decided().draining) == (2, 2, None)


def test_patterns_leave_a_shard_before_its_replica_goes(world: World) -> None:
    grow(world)
    world.silent = {1}
    world.busy = {0: 0.1, 1: 0.1}
    world.run(150)
    assert world.cluster.asked == [2], "the host of the shard has not answered"
    assert (world.decided().wanted, world.decided().draining) == (1, 1)
    assert {plan.desired for plan in world.plans() if plan.shard == 1} == {"stopped"}
    world.silent = set()
    world.run(40)
    assert world.cluster.asked == [2, 1]
    assert world.patterns_of() == [8]
    world.run(200)
    assert world.cluster.asked == [2, 1], "it becomes constant"


def test_a_pattern_that_comes_while_a_shard_is_drained_is_not_given_to_it(world: World) -> None:
    grow(world)
    world.silent = {1}
    world.busy = {0: 0.1, 1: 0.1}
    world.run(150)
    world.register(12)
    world.run(30)
    running = [plan.shard for plan in world.plans() if plan.desired == "running"]
    assert running == [0] * 8


def test_load_that_comes_back_ends_a_draining_and_patterns_come_back(world: World) -> None:
    grow(world)
    world.silent = {1}
    world.busy = {0: 0.1, 1: 0.1}
    world.run(150)
    world.busy = {0: 0.9, 1: 0.1}
    world.silent = set()
    world.run(20)
    world.busy = {0: 0.5, 1: 0.5}
    world.run(60)
    assert world.cluster.asked == [2]
    assert world.patterns_of() == [4, 4]


def test_a_conflict_is_decided_anew_soon(world: World) -> None:
    world.cluster.refusal = ConflictError("modified")
    world.run(60)
    assert world.cluster.asked == [2]


def test_throttling_is_waited_out(world: World) -> None:
    world.cluster.refusal = ThrottledError(40.0)
    world.run(60)
    assert world.cluster.asked == []
    world.run(60)
    assert world.cluster.asked == [2]


def test_a_dry_run_asks_whether_it_could_be_done_and_moves_nothing() -> None:
    world = World("dry-run")
    world.register(8)
    world.cluster.replicas = {SERVICE: Replicas(2, 2, "1")}
    world.busy = {0: 0.1, 1: 0.1}
    world.run(150)
    assert (world.cluster.asked, set(world.cluster.tried)) == ([], {1})
    assert world.patterns_of() == [4, 4]
    assert (world.decided().wanted, world.decided().mode, world.decided().draining) == (1, "dry-run", None)


def test_where_others_decide_patterns_follow_the_replicas() -> None:
    world = World("follow")
    world.register(8)
    world.busy = {0: 0.9}
    world.leadership.is_ours = False
    world.run(60)
    world.cluster.replicas = {SERVICE: Replicas(2, 2, "2")}
    world.run(60)
    assert (world.cluster.asked, world.cluster.tried) == ([], [])
    assert world.patterns_of() == [4, 4]
    assert world.decided().reason == "others decide how many replicas there are"


def test_who_does_not_lead_asks_for_nothing(world: World) -> None:
    world.leadership.is_ours = False
    world.run(120)
    assert world.cluster.asked == []
    world.leadership.is_ours = True
    world.run(120)
    assert world.cluster.asked == [2]


def test_who_does_not_plan_does_not_lead(world: World) -> None:
    world.run(5)
    world.planner.close()
    for _ in range(200):
        world.scaler.step()
    assert (world.cluster.asked, world.leadership.releases) == ([], 1)
    world.scaler.close()
    world.scaler.close()
    assert not world.cluster.is_open


def test_a_service_that_the_cluster_does_not_have_is_reported(world: World) -> None:
    world.cluster.replicas = {}
    world.run(40)
    assert (world.cluster.asked, world.decided().reason) == ([], "the number of replicas is not known")


def test_a_replica_that_was_taken_away_by_hand_comes_back_so_that_patterns_can_leave(world: World) -> None:
    grow(world)
    world.silent = {1}
    world.cluster.replicas = {SERVICE: Replicas(1, 1, "9")}
    world.run(40)
    assert world.cluster.asked == [2, 2]


def test_settings_say_what_is_wrong_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for reported, wrong in (
        ({"SCALING__MODE": "on"}, "no service to scale: say SCALING__SERVICES="),
        ({"SCALING__SERVICES": '{"matcher": {"stateful_set": "x"}}'}, "there is no matcher service 'matcher'"),
        ({"SCALING__SERVICES": '{"matcher_timing": {"stateful_set": "x", "least": 3, "most": 2}}'}, "say least <= most"),
        ({"SCALING__BUSY_AFTER": "0.8"}, "not below busy"),
    ):
        with monkeypatch.context() as patched:
            for name, value in reported.items():
                patched.setenv(f"GRAPHTIDE_PLANNER_{name}", value)
            with pytest.raises(ValidationError, match=wrong):
                PlannerSettings()


def test_there_is_not_a_scaling_unless_it_is_asked_for() -> None:
    assert [worker.name for worker in workers(PlannerSettings(), MemoryLog())] == ["graphtide.planner"]


def test_without_a_namespace_it_says_what_to_write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRAPHTIDE_PLANNER_SCALING__MODE", "on")
    monkeypatch.setenv("GRAPHTIDE_PLANNER_SCALING__SERVICES", '{"matcher_timing": {"stateful_set": "x"}}')
    monkeypatch.setenv("GRAPHTIDE_PLANNER_SCALING__TOKEN", str(tmp_path / "token"))
    with pytest.raises(FatalError, match="SCALING__NAMESPACE"):
        workers(PlannerSettings(), MemoryLog())


def test_the_whole_planner_scales_over_https_by_the_rules_that_a_role_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = "graphtide-matcher-timing"
    server = KubernetesServer(KubernetesApi(), tmp_path)
    for key, value in {
        "MODE": "on",
        "SERVICES": f'{{"matcher_timing": {{"stateful_set": "{name}", "least": 2, "most": 3}}}}',
        "SERVER": server.url,
        "TOKEN": str(server.token),
        "AUTHORITIES": str(server.authorities),
        "EVERY_SECONDS": "0.2",
        "IDENTITY": "planner-0",
    }.items():
        monkeypatch.setenv(f"GRAPHTIDE_PLANNER_SCALING__{key}", value)
    log, stop = MemoryLog(), Event()
    with server.running():
        server.api.put_stateful_set(name, 1)
        made = workers(PlannerSettings(), log)
        threads = [Thread(target=run, args=(worker, stop), name=worker.name) for worker in made]
        for thread in threads:
            thread.start()
        try:
            wait_until(lambda: server.api.replicas(name) == 2, 30)
            held = server.api.lease("graphtide-planner")
            assert held is not None
            assert held["holderIdentity"] == "planner-0"
            server.api.put_stateful_set(name, 5)
            wait_until(lambda: server.api.replicas(name) == 3, 30)
        finally:
            stop.set()
            for thread in threads:
                thread.join(30)
        assert not any(thread.is_alive() for thread in threads)
        given_back = server.api.lease("graphtide-planner")
        assert given_back is not None
        assert given_back["holderIdentity"] == ""
    assert (tmp_path / "namespace").read_text() == NAMESPACE
    assert server.api.rules() == {
        ("list", "apps", "statefulsets"),
        ("watch", "apps", "statefulsets"),
        ("patch", "apps", "statefulsets/scale"),
        ("get", "coordination.k8s.io", "leases"),
        ("create", "coordination.k8s.io", "leases"),
        ("update", "coordination.k8s.io", "leases"),
    }
