"""The host and streaming graph queries: each result is emitted once, whenever the host is killed and others come and go."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.graph_query import GraphQuery
from graphtide_core.ids import EdgeId, PatternName, StreamName, VertexId
from graphtide_core.plans import Derivation, JoinSteps, PathEngine, Rewriting
from graphtide_core.ports.log import TopicPartition
from graphtide_core.stream_window import WindowKind
from graphtide_core.time import EventTime
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_matcher_host import host, joining
from graphtide_query import parse, print_pattern
from graphtide_testing.host_world import TOPICS, HostWorld, plan
from graphtide_testing.strategies import GraphQueryShape, StreamShape, edge_streams, graph_queries
from graphtide_wire.control import LimitsForm
from graphtide_wire.plans import form_of
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

SERVICE = "matcher_algebra"
ENGINES = tuple(engine.value for engine in PathEngine)
STREAM = StreamShape(labels=("a", "b", "c"), vertices=4, duplicates=False, negative_ts=False, max_records=30)
KINDS = (WindowKind.EXTERNAL, WindowKind.EXTERNAL, WindowKind.INTERNAL, WindowKind.NOW)
QUERIES = graph_queries(GraphQueryShape(streams=("s",), kinds=KINDS))


def rename_query(query: GraphQuery, name: str) -> GraphQuery:
    return replace(query, name=PatternName(name))


def ask(text: str) -> GraphQuery:
    (query,) = parse(text)
    assert isinstance(query, GraphQuery)
    return query


def world_of_queries() -> HostWorld:
    return HostWorld(StreamName("s"), service=SERVICE)


@dataclass
class Served:
    """A query that was given to the host: how it is answered, and the offset where its results begin to be emitted."""

    query: GraphQuery
    engine: str
    start: int

    def give(self, world: HostWorld) -> None:
        world.plan(self.query, self.engine, service=SERVICE, start=self.start)


@pytest.mark.parametrize("is_slow", [True, False])
@given(
    stream=edge_streams(STREAM, min_records=6),
    generated=st.lists(QUERIES, min_size=1, max_size=5),
    rng=st.randoms(use_true_random=False),
)
def test_queries_come_and_go_and_change_plans_and_each_emits_its_own_whenever_the_host_is_killed(
    *, is_slow: bool, stream: tuple[Edge, ...], generated: list[GraphQuery], rng: random.Random
) -> None:
    with (
        patch.object(joining, "MOST_RECORDS", 1 if is_slow else 16),
        patch.object(host, "JOIN_SECONDS", 0 if is_slow else 0.02),
    ):
        come_and_go(stream, [rename_query(query, f"q{place}") for place, query in enumerate(generated)], rng)


def come_and_go(stream: Sequence[Edge], waiting: list[GraphQuery], rng: random.Random) -> None:
    world = world_of_queries()
    running: dict[str, Served] = {}
    forgotten: dict[str, Served] = {}
    rest = list(stream)
    while rest:
        size = rng.randint(1, 3)
        newest, sent, rest = rest[:size][-1].ts, rest[:size], rest[size:]
        passes = rng.randint(newest, rest[0].ts) if rest and rng.random() < 0.3 else None
        world.send(sent, passes=passes)
        if rest and rng.random() < 0.3:
            world.pass_time(rng.randint(newest if passes is None else passes, rest[0].ts))
        for _ in range(rng.choice((0, 1, 2))):
            if waiting:
                query = waiting.pop()
                served = Served(query, rng.choice(ENGINES), max(0, world.end() - rng.choice((0, 0, 1, 6))))
                running[query.name] = served
                served.give(world)
        if running and rng.random() < 0.4:
            changed = running[rng.choice(sorted(running))]
            changed.engine = rng.choice(ENGINES)
            changed.give(world)
        if running and rng.random() < 0.1:
            name = rng.choice(sorted(running))
            forgotten[name] = running.pop(name)
            world.forget(forgotten[name].query)
        if rng.random() < 0.1:
            world.host, world.checkpoints = None, MemoryCheckpoints()
        if rng.random() < 0.7:
            world.fuse.length = rng.choice((0, 0, rng.randint(1, 60)))
            world.live(rng.randint(0, 4))
    world.settle()
    for _ in range(100):
        if all(world.states().get(name) == "running" for name in running):
            break
        world.live(10)
    world.settle()
    said = world.said()
    for name, served in running.items():
        assert said[name].state == "running", said[name]
        assert world.matches(name) == world.expected(served.query, served.start), print_pattern(served.query)
    for name, served in forgotten.items():
        end = said[name].start if name in said else served.start
        assert world.matches(name) == world.expected(served.query, served.start, end), print_pattern(served.query)


def edge(number: int, ts: int, source: str, target: str, label: str = "a") -> Edge:
    return Edge(EdgeId(f"e{number}"), EventTime(ts), VertexId(source), VertexId(target), label)


def deletion(number: int, ts: int) -> Edge:
    return replace(edge(number, ts, "v", "w"), operation=Operation.DELETE)


LOOKBACKS = "QUERY one Answer(x, y) <- a+(x, y). ON s WINDOW(5)"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loses_checkpoint", [False, True])
@pytest.mark.parametrize("window", ["WINDOW(5)", "WINDOW(4500us)", "WINDOW(5) SLIDE(2)", "WINDOW(NOW)"])
def test_what_ends_just_now_is_extended_by_a_host_that_came_meanwhile(
    window: str, engine: str, *, loses_checkpoint: bool
) -> None:
    query = ask(f"QUERY one Answer(x, y) <- a+(x, y). ON s {window}")
    ends = {"WINDOW(NOW)": 11, "WINDOW(5) SLIDE(2)": 15}.get(window, 15)
    world = world_of_queries()
    world.plan(query, engine, service=SERVICE, start=0)
    world.send([edge(0, 10, "v", "w")])
    world.send([edge(1, ends, "x", "y")])
    world.settle()
    world.host = None
    world.checkpoints = MemoryCheckpoints() if loses_checkpoint else world.checkpoints
    world.send([edge(2, ends, "v", "w")])
    world.settle()
    assert world.matches() == world.expected(query, 0)
    assert Counter(each.split("'")[1] for each in world.matches()) == {"match": 2, "extend": 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_results_of_a_query_that_moves_are_emitted_and_retracted_by_the_next_host(engine: str) -> None:
    query = ask(LOOKBACKS)
    world = world_of_queries()
    world.plan(query, engine, service=SERVICE, start=0)
    world.send([edge(0, 1, "v", "w"), edge(1, 2, "w", "u")])
    world.settle()
    world.plan(query, engine, service=SERVICE, start=0, desired="stopped")
    world.settle()
    stopped = world.said()["one"].start
    other = world.new_host("other")
    other.open()
    world.plan(query, engine, service="other", start=0, reported_to=stopped)
    world.send([deletion(0, 3), edge(2, 4, "v", "w")])
    for _ in range(6):
        other.step()
    world.settle()
    assert world.matches() == world.expected(query, 0)
    assert Counter(each.split("'")[1] for each in world.matches()) == {"match": 5, "retract": 2}


def test_another_plan_takes_the_place_of_one_while_the_others_go_on() -> None:
    """The stream continues meanwhile: neither this query nor the other emits anything twice, or misses anything."""
    query, other = ask(LOOKBACKS), ask("QUERY other Answer(x, z) <- a(x, y), b(y, z). ON s WINDOW(4)")
    world = world_of_queries()
    for each in (query, other):
        world.plan(each, "s-path", service=SERVICE, start=0)
    number = 0
    for engine in ("delta-tree", "s-path", "delta-tree"):
        for _ in range(4):
            number += 1
            world.send([edge(number, number, f"v{number}", f"v{number + 1}", "ab"[number % 3 == 0])])
            world.live(1)
        world.plan(query, engine, service=SERVICE, start=0)
        world.live(1)
    world.settle()
    assert world.said()["one"].epoch == world.epoch
    for each in (query, other):
        assert world.matches(each.name) == world.expected(each, 0)
        assert len(world.matches(each.name)) > 2


@pytest.mark.parametrize("policy", ["pause", "shed"])
def test_a_query_that_comes_later_has_the_edges_that_a_limit_kept_another_from_taking(policy: str) -> None:
    """Both ask for the same edges: what a checkpoint holds of them must not depend on what one of them could hold."""
    bounded, other = (
        ask("QUERY one Answer(x, y) <- a+(x, y). ON s WINDOW(50)"),
        ask("QUERY other Answer(x, z) <- a(x, y), a(y, z). ON s WINDOW(50)"),
    )
    world = world_of_queries()
    limits = LimitsForm(partial_matches=1, policy=policy)  # type: ignore[arg-type]  # one of the policies
    world.plan(bounded, "s-path", service=SERVICE, start=0, limits=limits)
    world.send([edge(0, 1, "v", "w")])
    world.settle()
    world.send([edge(1, 2, "w", "u"), edge(2, 3, "u", "t")])
    world.live(1)
    world.plan(other, "s-path", service=SERVICE, start=0)
    world.settle()
    world.host = None
    world.send([edge(3, 4, "t", "v")])
    world.settle()
    assert world.matches("other") == world.expected(other, 0)
    assert len(world.matches("other")) == 4


def test_every_event_about_a_result_has_an_id_of_its_own() -> None:
    world = world_of_queries()
    world.plan(ask(LOOKBACKS), "s-path", service=SERVICE, start=0)
    # Extended twice, withdrawn, and derived again.
    world.send([edge(0, 1, "v", "w"), edge(1, 2, "v", "w"), edge(2, 4, "v", "w")])
    world.send([deletion(0, 5), deletion(1, 5), deletion(2, 5), edge(3, 6, "v", "w")])
    world.settle()
    reader = world.log.reader(None)
    reader.assign({TopicPartition(TOPICS.matches, 0): 0})
    ids = [dict(record.headers)["ce_id"] for record in reader.poll(0, 100)]
    assert len(ids) == len(set(ids)) == 5


CHAIN = f"QUERY one Answer(x0, x64) <- {', '.join(f'a(x{place}, x{place + 1})' for place in range(64))}. ON s WINDOW(5)"
JOINED = "QUERY one Answer(x, w) <- a(x, y), b(y, z), c(z, w). ON s WINDOW(5)"
REFUSED = {
    "does not apply in place 7": (LOOKBACKS, Derivation(rewritings=(Rewriting("inline concatenation", 7),))),
    "a join falls apart": (JOINED, Derivation(joins=(JoinSteps(0, ((0, 2), (1,))),))),
    "each of the 3 parts of PATTERN 0 once": (JOINED, Derivation(joins=(JoinSteps(0, ((0, 9),)),))),
    "64 variables at most": (CHAIN, Derivation()),
    "'Upper' is not a name of a stream": (
        "QUERY one INPUT a = ()-[:a]->() ON s WINDOW(5) INPUT b = ()-[:b]->() ON Upper WINDOW(5) "
        "Answer(x, z) <- a(x, y), b(y, z).",
        Derivation(),
    ),
    "windows and slides of time and of ticks": (
        "QUERY one INPUT a = ()-[:a]->() ON s WINDOW(5) INPUT b = ()-[:b]->() ON s WINDOW(5m) "
        "Answer(x, z) <- a(x, y), b(y, z).",
        Derivation(),
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_plan_that_is_damaged_or_cannot_run_is_refused_with_a_reason_and_the_others_run(reason: str) -> None:
    text, derivation = REFUSED[reason]
    other = rename_query(ask(LOOKBACKS), "other")
    world = world_of_queries()
    world.plan(other, "s-path", service=SERVICE, start=0)
    world.plan(ask(text), "s-path", service=SERVICE, start=0, plan=form_of(derivation))
    world.send([edge(0, 1, "v", "w")])
    world.settle()
    said = world.said()
    assert (said["one"].state, said["other"].state) == ("failed", "running")
    assert reason in (said["one"].reason or "")
    assert len(world.matches("other")) == 1


EDGES = "PATTERN one MATCH (a)-[x:k]->(b) ON s WINDOW 10"


@pytest.mark.parametrize(("text", "other", "engine"), [(EDGES, LOOKBACKS, "s-path"), (LOOKBACKS, EDGES, "timing")])
def test_a_plan_for_another_family_is_refused_with_the_reason(text: str, other: str, engine: str) -> None:
    (pattern,), (of_other_family,) = parse(text), parse(other)
    world = world_of_queries()
    world.plan(pattern, engine, service=SERVICE, start=0, plan=form_of(plan(of_other_family, engine)))
    world.settle()
    said = world.said()["one"]
    assert said.state == "failed"
    assert f"the engine {engine} does not match patterns of the family" in (said.reason or "")
