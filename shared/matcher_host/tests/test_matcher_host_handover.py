"""A plan that moves to another host takes the edges of its window along, from the first host's checkpoint where that serves."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import msgspec
import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.errors import TransientError
from graphtide_core.ids import EdgeId, StreamName, VertexId
from graphtide_core.time import EventTime
from graphtide_matcher_host import checkpoint_form, checkpointing, host, joining, stream_work
from graphtide_matcher_host.handover import Handover
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES, family_of
from graphtide_testing.dense_streams import dense_edges, dense_patterns
from graphtide_testing.host_world import TOPICS, HostWorld
from graphtide_testing.watched import WatchedLog
from graphtide_wire.control import HostName
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_log.checkpoints.memory import MemoryCheckpoints

TIMING, SJ_TREE = "matcher_timing", "matcher_sjtree"
(PATTERN,) = parse_subgraphs("PATTERN one MATCH (a)-[x:k]->(b)-[y:k]->(c) ON s WINDOW 100")
(LATER,) = parse_subgraphs("PATTERN later MATCH (a)-[x:k]->(b)-[y:k]->(c) ON s WINDOW 50")
(READER,) = parse_subgraphs("PATTERN reader MATCH (a)-[x:k]->(b)-[y:k]->(c) WHERE y.n > x.n ON s WINDOW 100")
OTHERS = {
    TIMING: parse_subgraphs("PATTERN other_here MATCH (a)-[x:k]->(b)-[y:k]->(c)-[z:k]->(d) ON s WINDOW 60")[0],
    SJ_TREE: parse_subgraphs(
        "PATTERN other_there MATCH (a)-[x:k]->(b)-[y:k]->(c) WHERE x.label = y.label AND NOT y.n > 5 ON s WINDOW 40"
    )[0],
}


def path(number: int) -> Edge:
    """An edge that continues the one before, so that each but the first completes a match."""
    return Edge(EdgeId(f"e{number}"), EventTime(number), VertexId(f"v{number}"), VertexId(f"v{number + 1}"), "k")


class Moves:
    """Two hosts of one stream, and a planner's hand that moves plans between them."""

    def __init__(self) -> None:
        self.worlds = {TIMING: HostWorld(StreamName("s"))}
        self.worlds[SJ_TREE] = self.worlds[TIMING].beside(SJ_TREE)
        self.world = self.worlds[TIMING]
        self.key = checkpoint_form.key_of(f"test.{TIMING}.0", self.world.stream)
        self.watched = WatchedLog(self.world.log, TOPICS.ordered(self.world.stream))
        self.worlds[SJ_TREE].log = self.watched
        self.start: dict[SubgraphPattern, int] = {}
        self.at: dict[SubgraphPattern, str] = {}
        self.leaving: dict[SubgraphPattern, int] = {}

    def begin(self, pattern: SubgraphPattern, service: str, start: int) -> None:
        """Give a pattern to its first host."""
        self.start[pattern], self.at[pattern] = start, service
        self.world.plan(pattern, _engine(pattern), service=service, start=start)

    def leave(self, pattern: SubgraphPattern) -> None:
        """Ask the host of a pattern to stop for another."""
        self.world.plan(pattern, _engine(pattern), service=self.at[pattern], desired="stopped", start=self.start[pattern])
        self.leaving[pattern] = self.world.epoch

    def arrive(self, pattern: SubgraphPattern, engine: str | None = None) -> bool:
        """Give a pattern that is leaving to the other host, if the first has said where it stopped."""
        said = self.world.said().get(pattern.name)
        if said is None or (said.epoch, said.state) != (self.leaving[pattern], "stopped"):
            return False
        del self.leaving[pattern]
        self.at[pattern] = SJ_TREE if said.service == TIMING else TIMING
        self.world.plan(
            pattern,
            engine or _engine(pattern),
            service=self.at[pattern],
            start=self.start[pattern],
            reported_to=said.start,
            came_from=HostName(said.service, said.shard),
            consumption=said.consumption,
        )
        return True

    def move(self, pattern: SubgraphPattern) -> None:
        """Let a pattern move, and its first host do all it has to."""
        self.leave(pattern)
        self.worlds[self.at[pattern]].settle()
        assert self.arrive(pattern)

    def settle(self) -> None:
        """Let all plans arrive, and all hosts do all there is to do."""
        for _ in range(100):
            for world in self.worlds.values():
                world.settle()
            for pattern in list(self.leaving):
                self.arrive(pattern)
            said = self.world.said()
            plan_status = {name: (each.service, each.state) for name, each in said.items()}
            if not self.leaving and all(plan_status.get(each.name) == (at, "running") for each, at in self.at.items()):
                return
        pytest.fail("some plan does not start to run")

    def check(self) -> None:
        """Look at what was reported of each pattern."""
        for pattern, start in self.start.items():
            assert self.world.matches(pattern.name) == self.world.expected(pattern, start), pattern.name


def _engine(pattern: SubgraphPattern) -> str:
    return family_of(pattern).names[0]


class Given(Counter[str]):
    """Counts of frames that hosts took over, by pattern; of those that took nothing more."""

    def __enter__(self) -> Given:
        give = Handover.give

        def counted(handover: Handover, *arguments: Any) -> Any:
            taken = give(handover, *arguments)
            self.update(f"{each.assignment.name}{'' if taken else ' ended'}" for each in handover.running)
            return taken

        self._patch = patch.object(Handover, "give", counted)
        self._patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.stop()


def small_steps(*, hold: float = 60.0) -> AbstractContextManager[object]:
    """Let frames and segments be small, and plans that join take one of them in a round."""
    stack = ExitStack()
    for of, name, value in (
        (checkpointing, "_MOST_EDGES", 2),
        (checkpointing, "MOST_BYTES", 4_000),
        (checkpointing, "MOST_SEGMENTS", 4),
        (joining, "MOST_RECORDS", 1),
        (host, "JOIN_SECONDS", 0),
        (stream_work, "HANDOVER_SECONDS", hold),
    ):
        stack.enter_context(patch.object(of, name, value))
    return stack


@pytest.fixture
def one_at_a_time() -> Iterator[None]:
    with small_steps():
        yield


@pytest.mark.parametrize("family", ["isomorphism", "simulation"])
@pytest.mark.parametrize("deletions", [True, False])
@pytest.mark.parametrize("is_slow", [True, False])
@settings(max_examples=settings().max_examples // 5)
@given(seed=st.integers(0, 2**32))
def test_plans_move_to_and_fro_and_each_match_is_reported_once_whenever_a_host_is_killed(
    *, family: str, deletions: bool, is_slow: bool, seed: int
) -> None:
    rng = Random(seed)
    with small_steps(hold=rng.choice((0.0, 60.0))) if is_slow else ExitStack():
        move_to_and_fro(rng, family, deletions=deletions)


def move_to_and_fro(rng: Random, family: str, *, deletions: bool) -> None:
    """Let plans move between hosts that are killed now and then, and look at what they reported."""
    moves = Moves()
    world = moves.world
    waiting = dense_patterns(family)
    rest = list(dense_edges(rng, 50, deletions=deletions))
    while rest:
        size = rng.randint(1, 3)
        world.send(rest[:size])
        newest, rest = rest[:size][-1].ts, rest[size:]
        if rest and rng.random() < 0.5:
            world.pass_time(rng.randint(newest, rest[0].ts))
        if waiting and rng.random() < 0.5:
            pattern = waiting.pop(rng.randrange(len(waiting)))
            moves.begin(pattern, rng.choice((TIMING, SJ_TREE)), max(0, world.end() - rng.choice((0, 0, 1, 6))))
        for pattern in moves.at:
            if pattern not in moves.leaving and rng.random() < 0.15:
                moves.leave(pattern)
            elif pattern in moves.leaving:
                moves.arrive(pattern, rng.choice(FAMILIES[family].names))
        for each in moves.worlds.values():
            if rng.random() < 0.7:
                each.fuse.length = rng.choice((0, 0, rng.randint(1, 60)))
                each.live(rng.randint(0, 4))
                if each.host is None:
                    # Of a host that is gone the log ends the transaction in time.
                    world.log.transactor(f"test.{each.service}.0").open()
        if rng.random() < 0.05:
            world.checkpoints.save(checkpoint_form.key_of(f"test.{rng.choice((TIMING, SJ_TREE))}.0", world.stream), b"", {}, [])
    moves.settle()
    moves.check()


def move_plan(edges: int, *others: str) -> Moves:
    """Return hosts after a plan has left the first host for the second; some services have another plan."""
    moves = Moves()
    moves.begin(PATTERN, TIMING, 0)
    for service in others:
        moves.begin(OTHERS[service], service, 0)
    for number in range(edges):
        moves.world.send([path(number)])
    moves.settle()
    moves.move(PATTERN)
    moves.watched.read.clear()
    return moves


@pytest.mark.parametrize("others", [(), (TIMING,), (SJ_TREE,), (TIMING, SJ_TREE)])
@pytest.mark.usefixtures("one_at_a_time")
def test_what_the_first_host_has_saved_is_not_read_in_the_log(others: tuple[str, ...]) -> None:
    moves = move_plan(20, *others)
    with Given() as given:
        moves.settle()
    assert moves.watched.read == []
    assert given["one"] > 5
    moves.world.send([path(20)])
    moves.settle()
    moves.check()
    assert len(moves.world.matches("one")) == 20


@pytest.mark.usefixtures("one_at_a_time")
def test_what_came_after_the_checkpoint_is_read_in_the_log() -> None:
    moves = move_plan(20, TIMING, SJ_TREE)
    moves.settle()
    # The checkpoint stays as it is for a while.
    for number in range(20, 30):
        moves.world.send([path(number)])
    moves.worlds[TIMING].settle()
    moves.begin(LATER, TIMING, 30)
    moves.worlds[TIMING].settle()
    moves.watched.read.clear()
    moves.move(LATER)
    moves.settle()
    assert min(moves.watched.read) == 20
    moves.check()


def spoilt(key: str, store: MemoryCheckpoints) -> None:
    store.save(key, (store.manifest(key) or b"")[:-1] + b"?", {}, [])


def of_another_format(key: str, store: MemoryCheckpoints) -> None:
    contents = checkpoint_form.read_contents(store, key)
    assert contents is not None
    manifest = msgspec.structs.replace(contents.manifest, format=checkpoint_form.FORMAT + 1)
    names = [segment.name for segment in (manifest.forms, *manifest.segments)]
    store.save(key, checkpoint_form.encode_manifest(manifest), {}, names)


def without_its_edges(key: str, store: MemoryCheckpoints) -> None:
    contents = checkpoint_form.read_contents(store, key)
    assert contents is not None
    store.save(key, store.manifest(key) or b"", {}, [contents.manifest.forms.name])


def of_no_edges_any_more(key: str, store: MemoryCheckpoints) -> None:
    contents = checkpoint_form.read_contents(store, key)
    assert contents is not None
    names = [segment.name for segment in contents.manifest.segments]
    store.save(key, store.manifest(key) or b"", dict.fromkeys(names, b"no frames"), [contents.manifest.forms.name])


def silent(_: str, store: MemoryCheckpoints) -> None:
    def refuse(*_: object) -> Any:
        message = "it does not answer"
        raise TransientError(message)

    for call in ("manifest", "segments", "save", "expire"):
        setattr(store, call, refuse)


@pytest.mark.parametrize("spoil", [spoilt, of_another_format, without_its_edges, of_no_edges_any_more, silent])
@pytest.mark.parametrize("others", [(), (TIMING, SJ_TREE)])
@pytest.mark.usefixtures("one_at_a_time")
def test_where_the_checkpoint_does_not_serve_the_log_is_read(
    others: tuple[str, ...], spoil: Callable[[str, MemoryCheckpoints], None]
) -> None:
    moves = move_plan(20, *others)
    spoil(moves.key, moves.world.checkpoints)
    moves.settle()
    assert sorted(set(moves.watched.read)) == list(range(20))
    moves.world.send([path(20)])
    moves.settle()
    moves.check()


@pytest.mark.usefixtures("one_at_a_time")
def test_where_the_checkpoint_is_replaced_while_it_is_read_the_rest_is_read_in_the_log() -> None:
    moves = move_plan(20, TIMING, SJ_TREE)
    with Given() as given:
        while given["one"] < 5:
            moves.worlds[SJ_TREE].live(1)
    moves.world.checkpoints.save(moves.key, b"", {}, [])
    moves.settle()
    assert 5 <= min(moves.watched.read) < 20
    moves.world.send([path(20)])
    moves.settle()
    moves.check()


@pytest.mark.usefixtures("one_at_a_time")
def test_a_plan_that_takes_its_edges_over_keeps_nobody_waiting() -> None:
    moves = move_plan(20, TIMING, SJ_TREE)
    for number in range(20, 25):
        moves.world.send([path(number)])
        moves.worlds[SJ_TREE].live(1)
        assert len(moves.world.matches("other_there")) == len(moves.world.expected(OTHERS[SJ_TREE], 0))
    assert moves.world.said()["one"].state == "stopped"
    moves.settle()
    moves.check()


@pytest.mark.parametrize("others", [(), (TIMING, SJ_TREE)])
def test_the_second_host_retracts_what_the_first_reported(others: tuple[str, ...]) -> None:
    moves = move_plan(8, *others)
    moves.world.send([replace(path(7), id=EdgeId("e5"), ts=EventTime(9), operation=Operation.DELETE)])
    moves.settle()
    moves.check()
    assert sum("retract" in each for each in moves.world.matches("one")) == 2


@pytest.mark.parametrize("others", [(), (SJ_TREE,)])
@pytest.mark.usefixtures("one_at_a_time")
def test_reported_matches_are_known_where_a_frame_has_edges_of_before_and_after_the_start(others: tuple[str, ...]) -> None:
    moves = Moves()
    moves.begin(PATTERN, TIMING, 0)
    for service in others:
        moves.begin(OTHERS[service], service, 0)
    for number in range(8):
        moves.world.send([path(number)])
    moves.settle()
    # Of the two edges of a frame, the second completes the first match that counts.
    moves.begin(LATER, TIMING, 3)
    moves.settle()
    moves.move(LATER)
    with Given() as given:
        moves.settle()
    assert given["later"] > 0
    moves.world.send([replace(path(7), id=EdgeId("e2"), ts=EventTime(9), operation=Operation.DELETE)])
    moves.settle()
    moves.check()
    assert sum("retract" in each for each in moves.world.matches("later")) == 1


@pytest.mark.usefixtures("one_at_a_time")
def test_a_host_that_lags_behind_the_checkpoint_takes_what_is_before_its_position() -> None:
    moves = Moves()
    moves.begin(PATTERN, TIMING, 0)
    moves.begin(OTHERS[SJ_TREE], SJ_TREE, 0)
    for number in range(20):
        moves.world.send([path(number)])
    moves.worlds[SJ_TREE].live(2)
    moves.worlds[TIMING].settle()
    moves.move(PATTERN)
    moves.settle()
    moves.world.send([path(20)])
    moves.settle()
    moves.check()


@pytest.mark.usefixtures("one_at_a_time")
def test_a_checkpoint_that_is_too_young_for_the_plan_does_not_serve() -> None:
    moves = Moves()
    moves.begin(OTHERS[TIMING], TIMING, 0)
    for number in range(20):
        moves.world.send([replace(path(number), attributes={"n": number})])
    moves.settle()
    # Attributes that no plan read are not in the checkpoint.
    moves.begin(READER, TIMING, 19)
    moves.settle()
    moves.watched.read.clear()
    moves.move(READER)
    moves.settle()
    assert sorted(set(moves.watched.read)) == list(range(20))
    moves.world.send([replace(path(20), attributes={"n": 20})])
    moves.settle()
    moves.check()


@pytest.mark.parametrize("is_over_before", [True, False])
@pytest.mark.usefixtures("one_at_a_time")
def test_no_match_has_an_edge_of_a_checkpoint_of_an_epoch_that_is_over(*, is_over_before: bool) -> None:
    moves = Moves()
    moves.begin(PATTERN, TIMING, 0)
    moves.begin(OTHERS[SJ_TREE], SJ_TREE, 0)
    for number in range(10):
        moves.world.send([path(number)])
    moves.settle()
    moves.leave(PATTERN)
    moves.worlds[TIMING].settle()
    moves.world.begin_epoch()
    moves.world.send([replace(path(10), ts=EventTime(1))])
    if is_over_before:
        moves.worlds[SJ_TREE].settle()
    assert moves.arrive(PATTERN)
    with Given() as given:
        moves.settle()
    assert bool(given["one"]) is not is_over_before
    moves.world.send([replace(path(11), ts=EventTime(2))])
    moves.settle()
    moves.check()


def test_frames_and_segments_are_bounded() -> None:
    with small_steps(hold=0):
        moves = Moves()
        moves.begin(PATTERN, TIMING, 0)
        moves.settle()
        for number in range(100):
            moves.world.send([path(number)])
            moves.worlds[TIMING].live(2)
        found = checkpointing.Checkpointer(moves.world.checkpoints, moves.key).load()
        assert found is not None
        segments, frames = found.contents.manifest.segments, found.frames
        assert {frame.last - frame.first for frame in frames} == {0}
        assert max(segment.size for segment in segments) <= checkpointing.MOST_BYTES
        # No two neighbours of the older half are small together.
        older = segments[: len(segments) // 2]
        assert all(one.size + other.size > checkpointing.MOST_BYTES for one, other in pairwise(older[:-2]))
        assert [frame.first for frame in frames] == list(range(100))
