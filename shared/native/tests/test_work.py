"""Work runs in slices, may be ended, and may be bounded, under every engine; what was not cut stays exact."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.errors import CutShortError, LimitExceededError
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import Completeness, MatchKind, SubgraphMatch
from graphtide_core.time import EventTime, TimeUnit
from graphtide_native.matcher import Matcher
from graphtide_native.records import Duplicates, JsonLinesDecoder, Symbols
from graphtide_native.spec import Concurrency, Limits, columns
from graphtide_query import parse, parse_subgraphs
from graphtide_query.families import PlannerOptions
from graphtide_query.planner import plan
from graphtide_testing.found import Found, key
from graphtide_testing.members import Members, make_chain
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.planner_options import planner_options_of
from graphtide_testing.records import to_json_lines
from graphtide_testing.seeds import seeds
from graphtide_testing.strategies import PatternShape, StreamShape, random_pattern, random_stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import Plan
    from graphtide_native import _native
    from graphtide_native.records import EdgeBatch
    from graphtide_native.reports import Totals

WAYS: Final = [
    *((planner_options, Concurrency()) for planner_options in planner_options_of("isomorphism")),
    (PlannerOptions("timing"), Concurrency(2)),
]
"""Engine and variant, and threads."""

DENSE: Final = StreamShape(
    nameless=False,
    max_records=400,
    vertices=6,
    labels=("x",),
    vertex_labels=("A",),
    gaps=(0, 1),
    self_loops=False,
    negative_ts=False,
)
"""Everything is next to everything."""

NEVER: Final = " WHERE e1.w + e8.w < 0"
STAR: Final = "PATTERN star MATCH " + ", ".join(f"(h)-[e{i}:x]->(v{i})" for i in range(1, 9)) + NEVER + " ON s WINDOW 10m"
CHAIN: Final = "PATTERN chain MATCH (a)-[f:x]->(b)-[g:y]->(c) ON s WINDOW 10m"


def parse_text(text: str) -> SubgraphPattern:
    (pattern,) = parse_subgraphs(text)
    return pattern


def edge(number: int, source: str, target: str, label: str = "x") -> Edge:
    return Edge(EdgeId(f"e{number}"), EventTime(number), VertexId(source), VertexId(target), label, attributes={"w": 1})


def hub(edges: int, start: int = 0) -> list[Edge]:
    """A hub that every edge leaves: the worst for a star."""
    return [edge(start + number, "hub", f"v{number}") for number in range(edges)]


def deletion(of: Edge, ts: int) -> Edge:
    return Edge(of.id, EventTime(ts), of.source, of.target, of.label, operation=Operation.DELETE)


class Pass:
    """A matcher of some plans with the decoder of its stream."""

    def __init__(self, plans: Sequence[Plan], **options: object) -> None:
        symbols = Symbols()
        projected = columns([plan.pattern for plan in plans])
        self.matcher = Matcher(plans, symbols, projected, unit=TimeUnit.MILLISECOND, **options)  # type: ignore[arg-type]  # passed on
        self._decoder = JsonLinesDecoder(symbols, projected, {})
        window = max(plan.pattern.duration.ticks_at_least(TimeUnit.MILLISECOND) for plan in plans)
        self._duplicates = Duplicates(window)

    def batch(self, edges: Iterable[Edge]) -> EdgeBatch:
        return self._duplicates.filter(self._decoder.decode(to_json_lines(tuple(edges))))

    def push(self, edges: Iterable[Edge]) -> list[SubgraphMatch]:
        return [found for part in self.matcher.push(self.batch(edges)) for found in part if isinstance(found, SubgraphMatch)]


@pytest.mark.parametrize(("planner_options", "concurrency"), WAYS, ids=str)
def test_a_search_without_end_is_ended_at_once(planner_options: PlannerOptions, concurrency: Concurrency) -> None:
    work = Pass([plan(parse_text(STAR), planner_options)], concurrency=concurrency)
    started = time.monotonic()
    with pytest.raises(CutShortError) as ended:
        list(work.matcher.push(work.batch(hub(3_000)), is_cancelled=lambda: time.monotonic() - started > 0.2))
    # Undisturbed it takes longer than anyone lives.
    assert 0 < ended.value.records < 3_000
    assert ended.value.work > 0


@pytest.mark.parametrize(("planner_options", "concurrency"), WAYS, ids=str)
def test_a_matcher_goes_on_after_it_was_stopped(planner_options: PlannerOptions, concurrency: Concurrency) -> None:
    """Work that still ends after `push` has returned takes nothing from the records after."""
    star, chain = plan(parse_text(STAR), planner_options), plan(parse_text(CHAIN), planner_options)
    work = Pass([star, chain], concurrency=concurrency)
    started = time.monotonic()
    with pytest.raises(CutShortError):
        list(work.matcher.push(work.batch(hub(3_000)), is_cancelled=lambda: time.monotonic() - started > 0.2))

    later = [edge(700_000, "a", "b"), edge(700_001, "b", "c", "y")]
    assert [match.query for match in work.push(later)] == ["chain"]


def totals(work: Pass, concurrency: Concurrency) -> Totals:
    """Return the counts of a pass, without peaks and bytes if threads run in any order: storage grows by the order."""
    found = work.matcher.totals()
    return found if concurrency.threads == 1 else replace(found, peak_partial_matches=0, peak_state_bytes=0, state_bytes=0)


@pytest.mark.parametrize(("planner_options", "concurrency"), WAYS, ids=str)
def test_slices_change_nothing(planner_options: PlannerOptions, concurrency: Concurrency) -> None:
    """Slices of no length: work pauses whenever it may.

    Both passes hand over as many matches at once: memory is freed and measured there.
    """
    slices = 0

    def count_slice() -> bool:
        nonlocal slices
        slices += 1
        return False

    for seed in seeds(6):
        rng = random.Random(seed)
        pattern = random_pattern(rng, PatternShape(max_edges=4, max_window=300, predicates=False, stream=DENSE))
        edges = random_stream(rng, DENSE)
        whole = Pass([plan(pattern, planner_options)], concurrency=concurrency, deletions=True)
        sliced = Pass([plan(pattern, planner_options)], concurrency=concurrency, deletions=True, slice_seconds=0.0)
        expected = [list(part) for part in whole.matcher.push(whole.batch(edges), most=50)]
        parts = [list(part) for part in sliced.matcher.push(sliced.batch(edges), most=50, is_cancelled=count_slice)]
        assert parts == expected
        assert totals(sliced, concurrency) == totals(whole, concurrency)
    assert slices > 0 or planner_options.engine == "filtering"


@pytest.mark.parametrize(("planner_options", "concurrency"), WAYS, ids=str)
def test_a_pattern_at_its_limit_sheds_and_the_others_stay_exact(
    planner_options: PlannerOptions, concurrency: Concurrency
) -> None:
    star, chain = plan(parse_text(STAR.replace(NEVER, "")), planner_options), plan(parse_text(CHAIN), planner_options)
    limits = [Limits(work=20, policy="shed", partial_matches=20_000), Limits(work=200)]
    edges = [*hub(40), edge(40, "v3", "w", "y"), *hub(40, 41), edge(81, "v5", "w", "y")]
    work = Pass([star, chain], concurrency=concurrency, limits=limits, deletions=True)
    found = work.push(edges)
    of_chain = [match for match in found if match.query == "chain"]
    assert sorted(map(key, of_chain)) == sorted(SubgraphOracle(chain.pattern).run(edges))
    assert {match.completeness for match in of_chain} == {Completeness.EXACT}
    adversary, modest = work.matcher.patterns()
    assert adversary.limited > 0
    assert modest.limited == 0
    assert (modest.limit, modest.paused, adversary.paused) == ("", False, False)
    assert all(is_a_star(match, edges) for match in found if match.query == "star")
    if adversary.matches:
        assert Completeness.SHED in {match.completeness for match in found if match.query == "star"}


def is_a_star(match: SubgraphMatch, edges: Sequence[Edge]) -> bool:
    known = {each.id: each for each in edges}
    targets = [known[each].target for each in match.edges.values()]
    return all(known[each].source == "hub" for each in match.edges.values()) and len(set(targets)) == len(targets)


MOST_MATCHES: Final = 5_000
"""A random stream ends early after so many matches: the oracle is slow."""


@cache
def true_matches(seed: int) -> tuple[SubgraphPattern, tuple[tuple[Edge, frozenset[Found]], ...]]:
    """Return a random pattern, and each record of a random stream with what the oracle reports for it, on any plan.

    If the first match of a key was lost, a later one is the first. So these are all matches, not only the first of a key.
    """
    rng = random.Random(seed)
    pattern = random_pattern(rng, PatternShape(max_edges=4, max_window=300, predicates=False, stream=DENSE))
    oracle = SubgraphOracle(replace(pattern, is_distinct=False, one_per=None))
    stream, matches = list[tuple[Edge, frozenset[Found]]](), 0
    for edge in random_stream(rng, DENSE):
        if matches > MOST_MATCHES:
            break
        stream.append((edge, oracle.push(edge)))
        matches += len(stream[-1][1])
    return pattern, tuple(stream)


@pytest.mark.parametrize(("planner_options", "concurrency"), WAYS, ids=str)
def test_what_was_stored_before_a_cut_is_true_after_it(planner_options: PlannerOptions, concurrency: Concurrency) -> None:
    for seed in seeds(8):
        pattern, stream = true_matches(seed)
        limits = Limits(work=1, policy="shed")
        work = Pass([plan(pattern, planner_options)], concurrency=concurrency, deletions=True, limits=limits)
        reported: set[tuple[object, ...]] = set()
        for edge, allowed in stream:
            for match in work.push([edge]):
                # Whatever is reported is true, whatever is retracted was reported.
                assert key(match) in allowed
                identity = tuple(sorted(match.edges.items()))
                if match.kind is MatchKind.RETRACT:
                    assert identity in reported
                else:
                    reported.add(identity)


def test_a_limit_of_work_ends_the_run_or_pauses_the_pattern() -> None:
    pattern = parse_text(STAR)
    failing = Pass([plan(pattern, "re-search")], limits=Limits(work=50))
    with pytest.raises(LimitExceededError, match="50 steps of work a record"):
        failing.push(hub(3_000))
    pausing = Pass([plan(pattern, "re-search")], limits=Limits(work=50, policy="pause"))
    assert pausing.push(hub(3_000)) == []
    (report,) = pausing.matcher.patterns()
    assert (report.paused, report.limit, report.limited) == (True, "50 steps of work a record", 1)
    # It had saved 4,096 records' worth and got some more.
    assert 50 * 4_096 <= report.work <= 50 * (4_096 + 3_000)


def test_refills_for_time_are_as_good_as_records() -> None:
    """A quiet stream: each edge needs more than a record refills, and less than a second does."""
    pattern = parse_text(STAR.partition(", (h)-[e4")[0] + " WHERE e1.w + e3.w < 0 ON s WINDOW 10m")
    edges = hub(300)
    quiet, hasty = (Pass([plan(pattern, "re-search")], limits=Limits(work=500, policy="shed")) for _ in range(2))
    for each in edges:
        quiet.push([each])
        quiet.matcher.refill(4_096)
        hasty.push([each])
    assert quiet.matcher.patterns()[0].limited == 0
    assert hasty.matcher.patterns()[0].limited > 0


def test_the_greediest_pays_for_what_the_shard_cannot_do() -> None:
    star, chain = plan(parse_text(STAR), "re-search"), plan(parse_text(CHAIN), "timing")
    edges = [*hub(200), *(edge(200 + number, f"v{number}", "w", "y") for number in range(200))]
    work = Pass([star, chain], limits=Limits(policy="shed"), work=100)
    found = work.push(edges)
    assert sorted(map(key, found)) == sorted(SubgraphOracle(chain.pattern).run(edges))
    greedy, modest = work.matcher.patterns()
    assert greedy.limited > 0
    assert "shard" in greedy.limit
    assert modest.limited == 0


def test_a_budget_ends_a_push_and_says_how_far_it_came() -> None:
    work = Pass([plan(parse_text(STAR), "filtering")])
    with pytest.raises(CutShortError) as ended:
        list(work.matcher.push(work.batch(hub(3_000)), budget=100_000))
    assert 100_000 < ended.value.work < 102_000
    assert 5 < ended.value.records < 100
    # What was lost is said of what comes after; other work continues.
    work.push([edge(10**6, "a", "b", "y")])
    assert work.matcher.totals().records == ended.value.records + 1


def test_a_matcher_with_work_under_way_is_left_alone() -> None:
    work = Pass([plan(parse_text(STAR), "re-search")], slice_seconds=0.0)
    native: _native.Matcher = work.matcher._native  # noqa: SLF001 - between two slices nothing else reads it
    assert not native.push(work.batch(hub(3_000)), 0, 100, None)
    with pytest.raises(RuntimeError, match="under way"):
        native.totals()
    refusals: list[str] = []

    def meddle() -> None:
        try:
            native.go_on()
        except RuntimeError as error:
            refusals.append(str(error))

    meddler = threading.Thread(target=meddle)
    meddler.start()
    meddler.join()
    assert refusals == ["another thread has work under way with this matcher"]
    assert not native.go_on()
    native.stop()
    pushed = native.pushed()
    assert pushed is not None
    assert pushed[3], "it was ended before it was done"
    assert native.totals()["records"] == pushed[1]


def test_a_change_of_plan_is_ended_too() -> None:
    """Warming another engine over a hub takes for ever; nobody waits for it."""
    pattern = parse_text(STAR)
    limits = Limits(work=1_000, policy="shed")
    work = Pass([plan(pattern, "filtering")], adaptive=True, limits=limits)
    work.push(hub(30))
    assert not work.matcher.replan(0, plan(pattern, PlannerOptions.of("timing", "independent")))
    assert work.push([edge(10**6, "a", "b", "y")]) == []


FAN = "PATTERN fan MATCH (a)-[e1:x]->(h), (b)-[e2:x]->(h), (c)-[e3:x]->(h), (d)-[e4:x]->(h), (e)-[e5:x]->(h) ON s WINDOW 10m"
FANS = 2_520
"""Matches of five edges among seven, 7! / 2!."""


def fan(edges: int) -> list[Edge]:
    return [edge(number, f"v{number}", "hub") for number in range(edges)]


ENGINES = [way for way in WAYS if way[1].threads == 1]


@pytest.mark.parametrize("deletions", [False, True])
@pytest.mark.parametrize(("planner_options", "concurrency"), ENGINES, ids=str)
def test_a_record_hands_on_its_matches_in_parts_while_it_is_under_way(
    planner_options: PlannerOptions, concurrency: Concurrency, deletions: bool
) -> None:
    whole = Pass([plan(parse_text(FAN), planner_options)], concurrency=concurrency, deletions=deletions)
    parted = Pass([plan(parse_text(FAN), planner_options)], concurrency=concurrency, deletions=deletions)
    expected = whole.push(fan(7))
    parts = [list(part) for part in parted.matcher.push(parted.batch(fan(7)), most=50)]
    assert [found for part in parts for found in part] == expected
    assert len(expected) == FANS
    assert max(len(part) for part in parts) <= 100
    assert parted.matcher.totals().matches == parted.matcher.patterns()[0].matches == FANS
    # A deletion, too, retracts in parts.
    if deletions:
        ended = [list(part) for part in parted.matcher.push(parted.batch([deletion(fan(1)[0], 9)]), most=50)]
        assert [len(part) for part in ended][:2] == [50, 50]
        assert sum(map(len, ended)) == sum(fan(1)[0].id in found.edges.values() for found in expected)


@pytest.mark.parametrize(("planner_options", "concurrency"), ENGINES, ids=str)
def test_distinct_matches_of_a_record_are_those_of_one_that_is_whole(
    planner_options: PlannerOptions, concurrency: Concurrency
) -> None:
    text = FAN.replace(" ON s", "").replace("WINDOW 10m", "ON s WINDOW 10m REPORT DISTINCT")
    whole, parted = (Pass([plan(parse_text(text), planner_options)], concurrency=concurrency) for _ in range(2))
    found = [match for part in parted.matcher.push(parted.batch(fan(7)), most=50) for match in part]
    assert found == whole.push(fan(7))
    assert len(found) == 21


@pytest.mark.parametrize(("planner_options", "concurrency"), ENGINES, ids=str)
def test_leaving_within_a_record_gives_true_counts(planner_options: PlannerOptions, concurrency: Concurrency) -> None:
    work = Pass([plan(parse_text(FAN), planner_options)], concurrency=concurrency)
    parts = work.matcher.push(work.batch(fan(7)), most=50)
    taken = len(next(parts)) + len(next(parts))
    parts.close()
    left = sum(len(part) for part in work.matcher.take_unclaimed())
    assert taken + left == work.matcher.totals().matches < FANS
    later = Pass([plan(parse_text(FAN), planner_options)], concurrency=concurrency)
    assert later.matcher.shed() == []
    assert work.matcher.shed() == [0]


@pytest.mark.parametrize("kept", ["ONE PER", "deletions"])
def test_matches_that_wait_for_the_end_of_their_record_are_bounded(kept: str) -> None:
    """Those of one record take more than the pattern may hold: its policy acts before the record is done."""
    text = FAN + (" REPORT ONE PER h.id EVERY 1m" if kept != "deletions" else "")
    limits = Limits(state_bytes=60_000, policy="pause")
    work = Pass([plan(parse_text(text), PlannerOptions("re-search"))], limits=limits, deletions=kept == "deletions")
    found = [match for part in work.matcher.push(work.batch(fan(7)), most=50) for match in part]
    (report,) = work.matcher.patterns()
    assert (report.paused, report.limit) == (True, "60000 bytes of state, matches of one record included")
    assert len(found) < FANS


def test_lines_are_written_in_pieces() -> None:
    work = Pass([plan(parse_text(FAN), PlannerOptions("re-search"))])
    (part,) = work.matcher.push(work.batch(fan(7)))
    pieces = list(part.json_lines(size=10_000))
    assert b"".join(lines for lines, _ in pieces) == part.to_json_lines()
    assert all(len(lines) < 11_000 and lines.endswith(b"\n") for lines, _ in pieces)
    assert [place for _, place in pieces][-1] == len(part)
    assert sum(count for _, _, count in part.counts(pieces[0][1])) == len(part) - pieces[0][1]


BEFORE: Final = {
    "isomorphism": "PATTERN p{n} MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y ON s WINDOW {n}00ms",
    "simulation": (
        "PATTERN p{n} MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y UNDER DUAL SIMULATION REPORT INSTANCES ON s WINDOW {n}00ms"
    ),
    "events": "PATTERN p{n} SEQ(a:k, b:k) ON s WITHIN {n}00ms",
    "algebra": "QUERY p{n} Answer(x, z) <- k(x, y), k(y, z). ON s WINDOW({n}00ms) SLIDE(1ms)",
}
"""Patterns of each family, none of which is another's like."""


@pytest.mark.parametrize("family", sorted(BEFORE))
def test_a_bound_that_comes_later_leaves_those_before_without_one(family: str) -> None:
    """Until then no work was counted, but every earlier pattern has an account, whatever its number and family."""

    def taken(limits: Limits) -> list[int]:
        patterns = [one for n in range(1, 13) for one in parse(BEFORE[family].format(n=n))]
        plans = [plan(pattern, "auto") for pattern in patterns]
        members = Members(make_chain(40), *plans, deletions=False)
        members.push(5)
        members.matcher.remove(0)
        members.add(plan(parse_text(CHAIN.replace(":y", ":k").replace(":x", ":k")), "timing"), 5, limits)
        members.push(20)
        return [report.matches for report in members.matcher.patterns()]

    assert taken(Limits(work=100_000)) == taken(Limits())
