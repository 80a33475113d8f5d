"""How many replicas a service shall have, by recorded situations, and by what holds in all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from graphtide_planner.domain.scaling import Aims, Bounds, Decision, History, HostLoad, Situation, decide
from hypothesis import given
from hypothesis import strategies as st

SITUATIONS = sorted((Path(__file__).parent / "fixtures" / "situations").glob("*.json"))
AIMS = Aims()
EVERY = 60.0


@pytest.mark.parametrize("path", SITUATIONS, ids=lambda path: path.stem)
def test_recorded_situations_lead_to_what_was_decided(path: Path) -> None:
    story = json.loads(path.read_text("utf-8"))
    aims = msgspec.convert(story["aims"], Aims) if "aims" in story else AIMS
    history = msgspec.convert(story["history"], History) if "history" in story else History()
    for step in story["steps"]:
        decision = decide(msgspec.convert(step["situation"], Situation), history, aims)
        assert decision.wanted == step["wanted"], decision.reason
        assert step["reason"] in decision.reason
        history = decision.history


def test_bounds_hold_a_replica_at_least() -> None:
    for least, most in ((0, 2), (3, 2)):
        with pytest.raises(ValueError, match="say 1 <= least <= most"):
            Bounds(least, most)


SHARES = st.floats(0, 1)


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Any service, in any trouble."""
    replicas, least = draw(st.integers(0, 8)), draw(st.integers(1, 6))
    hosts = tuple(
        HostLoad(
            shard,
            draw(st.sampled_from([0.0, 30.0, 1e4, float("inf")])),
            draw(SHARES),
            draw(st.floats(0, 200)),
            draw(st.integers(0, 3000)),
            draw(st.integers(0, 4 * 1024**3)),
            draw(st.integers(0, 20)),
        )
        for shard in range(replicas)
    )
    bounds = Bounds(least, draw(st.integers(least, 8)))
    stranded = draw(st.sampled_from([0, 0, 0, replicas + 1]))
    return Situation("s", 0.0, replicas, draw(st.integers(0, replicas)), bounds, hosts, stranded)


@given(st.lists(st.tuples(situations(), st.floats(1, 1000)), min_size=1, max_size=30))
def test_what_is_wanted_is_within_bounds_and_a_step_away(story: list[tuple[Situation, float]]) -> None:
    history, at = History(), 0.0
    for situation, passed in story:
        at += passed
        now = replace(situation, at=at)
        was_draining = history.draining
        decision = decide(now, history, AIMS)
        history = decision.history
        bounds = now.bounds
        assert bounds.least <= decision.wanted <= bounds.most
        if bounds.least <= now.replicas <= bounds.most and now.stranded <= now.replicas:
            assert decision.wanted <= now.replicas + AIMS.step_out
            assert decision.wanted >= now.replicas - AIMS.step_in or decision.wanted == was_draining
        if decision.wanted > now.replicas >= max(bounds.least, now.stranded):
            assert any(_is_too_much(host) for host in now.hosts), "more only where something is too much"


@given(st.lists(st.tuples(situations(), st.floats(1, 1000)), min_size=1, max_size=30))
def test_fewer_are_wanted_only_where_the_rest_can_carry_all(story: list[tuple[Situation, float]]) -> None:
    history, at = History(), 0.0
    for situation, passed in story:
        at += passed
        now = replace(situation, at=at)
        was_draining = history.draining is not None
        decision = decide(now, history, AIMS)
        history = decision.history
        if decision.wanted < now.replicas <= now.bounds.most and not was_draining:
            loaded = [host for host in now.hosts if host.patterns]
            assert sum(host.busy for host in loaded) <= decision.wanted * AIMS.busy_after
            assert sum(host.memory_bytes for host in loaded) <= decision.wanted * AIMS.memory_bytes
            assert now.ready == now.replicas
            assert all(host.age_seconds <= AIMS.load_seconds for host in loaded)


def _is_too_much(host: HostLoad) -> bool:
    return bool(host.patterns) and (
        host.busy > AIMS.busy
        or host.lag_seconds > AIMS.lag_seconds
        or host.lag_records > AIMS.lag_records
        or host.memory_bytes > AIMS.memory_bytes
    )


class Service:
    """A service under a load that patterns share, perhaps unevenly, and a cost that each replica pays for the stream."""

    def __init__(self, weights: list[float], each_pays: float, replicas: int, bounds: Bounds) -> None:
        self.weights = weights
        self.each_pays = each_pays
        self.replicas = replicas
        self.bounds = bounds
        self.history = History()
        self.at = 0.0
        self.behind = 0.0
        self.changes: list[tuple[float, int, int]] = []

    def hosts(self, scale: float) -> tuple[HostLoad, ...]:
        """Give each pattern, the costly ones first, to the least loaded shard."""
        loads, counts = [0.0] * self.replicas, [0] * self.replicas
        for weight in sorted(self.weights, reverse=True):
            shard = loads.index(min(loads))
            loads[shard] += weight * scale
            counts[shard] += 1
        asked = [load + self.each_pays * bool(count) for load, count in zip(loads, counts, strict=True)]
        over = max(0.0, max(asked) - 1.0)
        self.behind = max(0.0, self.behind + EVERY * over) if over else max(0.0, self.behind - EVERY)
        return tuple(
            HostLoad(shard, 1.0, min(1.0, busy), self.behind if busy >= 1.0 else 0.0, 0, 100 << 20, counts[shard])
            for shard, busy in enumerate(asked)
        )

    def run(self, seconds: float, scale: float = 1.0) -> None:
        """Let time pass; what is wanted comes about at once."""
        until = self.at + seconds
        while self.at < until:
            now = Situation("s", self.at, self.replicas, self.replicas, self.bounds, self.hosts(scale))
            decision: Decision = decide(now, self.history, AIMS)
            self.history = decision.history
            if decision.wanted != self.replicas:
                self.changes.append((self.at, self.replicas, decision.wanted))
                self.replicas = decision.wanted
            self.at += EVERY


WEIGHTS = st.lists(st.floats(0.001, 0.5), min_size=1, max_size=8)


@given(WEIGHTS, st.floats(0, 0.3), st.integers(1, 8))
def test_at_constant_load_the_replicas_become_constant(weights: list[float], each_pays: float, replicas: int) -> None:
    service = Service(weights, each_pays, replicas, Bounds(1, 8))
    service.run(12 * 3600)
    settled = len(service.changes)
    service.run(6 * 3600)
    assert service.changes[settled:] == []
    reversals = sum((b[2] - b[1]) * (a[2] - a[1]) < 0 for a, b in zip(service.changes, service.changes[1:], strict=False))
    assert reversals <= 2 * 8, "no number of replicas is tried twice at a load that it did not carry"


@given(st.floats(0.05, 4.0), st.integers(1, 8))
def test_at_constant_load_that_is_even_there_is_one_direction(load: float, replicas: int) -> None:
    service = Service([load / 16] * 16, 0.02, replicas, Bounds(1, 8))
    service.run(6 * 3600)
    assert len({after > before for _, before, after in service.changes}) <= 1
    assert all(host.busy <= AIMS.busy for host in service.hosts(1.0)) or service.replicas == 8


def test_load_that_comes_and_goes_with_the_day_is_followed() -> None:
    service = Service([0.05] * 40, 0.02, 1, Bounds(1, 6))
    numbers = []
    for scale in (0.2, 1.0) * 3:
        service.run(6 * 3600, scale)
        numbers.append(service.replicas)
    assert numbers == [1, 4] * 3
