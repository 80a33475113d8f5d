"""The engine `sj-tree` by hand: the traps of Lazy Search one by one, what is stored, limits."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from graphtide_core.edge import Edge, Operation
from graphtide_core.errors import LimitExceededError
from graphtide_core.ids import EdgeId, PatternName, StreamName, VertexId
from graphtide_core.match import SubgraphMatch
from graphtide_core.order import TimingOrder
from graphtide_core.pattern import Morphism, QueryEdge, QueryVertex, SubgraphPattern
from graphtide_core.plans import Plan, SjTreePlan, SjTreeStrategy
from graphtide_core.time import Duration, EventTime
from graphtide_native.matcher import Matcher
from graphtide_native.records import Duplicates, JsonLinesDecoder, Symbols
from graphtide_native.spec import Limits, columns
from graphtide_testing.found import keys
from graphtide_testing.records import to_json_lines

STRATEGIES = tuple(SjTreeStrategy)
LAZY = (SjTreeStrategy.SINGLE_LAZY, SjTreeStrategy.PATH_LAZY)
ALL_STORED = (SjTreeStrategy.SINGLE, SjTreeStrategy.PATH)
Leaves = tuple[tuple[int, ...], ...]


class Engine:
    """A matcher of one pattern, fed record by record."""

    def __init__(self, planned: Plan, limits: Limits | None = None) -> None:
        projected = columns([planned.pattern])
        symbols = Symbols()
        self.matcher = Matcher([planned], symbols, projected, deletions=True, limits=limits)
        self._decoder = JsonLinesDecoder(symbols, projected, {})
        self._duplicates = Duplicates(planned.pattern.duration.amount)

    def push(self, *records: Edge) -> list[SubgraphMatch]:
        batch = self._duplicates.filter(self._decoder.decode(to_json_lines(records)))
        return [match for part in self.matcher.push(batch) for match in part if isinstance(match, SubgraphMatch)]

    def tables(self) -> dict[str, tuple[int, int]]:
        """Partial matches alive and ever made, by table."""
        (report,) = self.matcher.patterns()
        return {item.name: (item.live, item.created) for item in report.items}


def edge(text: str) -> Edge:
    """Read `id: source-label->target @ts`; a deletion is `id: delete @ts`."""
    identity, rest = text.split(": ")
    what, ts = rest.split(" @")
    if what == "delete":
        gone = Edge(EdgeId(identity), EventTime(int(ts)), VertexId(""), VertexId(""), "", None, None, {})
        return replace(gone, operation=Operation.DELETE)
    source, to = what.split("-", 1)
    label, target = to.split("->")
    return Edge(EdgeId(identity), EventTime(int(ts)), VertexId(source), VertexId(target), label, None, None, {})


def pattern(edges: str, *, order: str = "", window: int = 10, morphism: Morphism = Morphism.ISOMORPHISM) -> SubgraphPattern:
    """Read `a: x-label->y, b: y->z` and `a<b b<c`; edges without a label match every label."""
    parsed = []
    for part in edges.split(", "):
        name, ends = part.split(": ")
        source, to = ends.split("-", 1)
        label, target = to.split(">")
        parsed.append(QueryEdge(name, source, target, label.rstrip("-") or None))
    names = dict.fromkeys(end for one in parsed for end in (one.source, one.target))
    return SubgraphPattern(
        name=PatternName("p"),
        vertices=tuple(QueryVertex(name) for name in names),
        edges=tuple(parsed),
        window=Duration(window),
        stream=StreamName("s"),
        order=TimingOrder.of((pair[0], pair[2]) for pair in order.split()),
        morphism=morphism,
    )


def list_emitted(query: SubgraphPattern, leaves: Leaves, strategy: SjTreeStrategy, *records: str) -> list[str]:
    """Return what is reported, as `+a=1 b=2 @3` for a match and `-…` for a retraction; sorted for each record."""
    engine = Engine(Plan(query, SjTreePlan(leaves, strategy)))
    lines = []
    for record in records:
        emitted_now = []
        for found in keys(engine.push(edge(record))):
            ids = " ".join(f"{name}={identity}" for name, identity in found.edges)
            emitted_now.append(f"{'+' if found.kind == 'match' else '-'}{ids} @{found.detected_at}")
        lines += sorted(emitted_now)
    return lines


PATH = pattern("a: x-r->y, b: y-c->z")
EDGES: Leaves = ((0,), (1,))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("leaves", [EDGES, ((1,), (0,)), ((0, 1),), ((1, 0),)])
def test_every_strategy_and_decomposition_joins_in_both_orders_of_arrival(strategy: SjTreeStrategy, leaves: Leaves) -> None:
    forth = list_emitted(PATH, leaves, strategy, "1: u-r->v @1", "2: v-c->w @2")
    back = list_emitted(PATH, leaves, strategy, "2: v-c->w @1", "1: u-r->v @2")
    assert forth == back == ["+a=1 b=2 @2"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_edges_that_arrived_before_what_enables_them_are_found_once_each(strategy: SjTreeStrategy) -> None:
    records = ["2: v-c->w @1", "3: v-c->x @1", "4: v-c->x @2", "1: u-r->v @3", "5: v-c->w @4", "6: t-r->v @5"]
    assert list_emitted(PATH, EDGES, strategy, *records) == [
        "+a=1 b=2 @3",
        "+a=1 b=3 @3",
        "+a=1 b=4 @3",
        "+a=1 b=5 @4",
        "+a=6 b=2 @5",
        "+a=6 b=3 @5",
        "+a=6 b=4 @5",
        "+a=6 b=5 @5",
    ]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_search_whose_enabling_match_expired_is_enabled_again(strategy: SjTreeStrategy) -> None:
    records = ["1: u-r->v @1", "2: v-c->w @11", "3: u-r->v @20", "4: v-c->w @21", "5: v-c->w @30", "6: t-r->v @41"]
    assert list_emitted(PATH, EDGES, strategy, *records) == ["+a=3 b=2 @20", "+a=3 b=4 @21"]


@pytest.mark.parametrize("strategy", LAZY)
def test_lazily_nothing_is_stored_away_from_the_first_primitive(strategy: SjTreeStrategy) -> None:
    engine = Engine(Plan(PATH, SjTreePlan(EDGES, strategy)))
    assert engine.push(*[edge(f"{n}: v{n}-c->w @1") for n in range(50)]) == []
    assert engine.tables() == {"P1": (0, 0)}


@pytest.mark.parametrize("strategy", ALL_STORED)
def test_without_lazy_search_every_primitive_is_stored(strategy: SjTreeStrategy) -> None:
    engine = Engine(Plan(PATH, SjTreePlan(EDGES, strategy)))
    engine.push(*[edge(f"{n}: v{n}-c->w @1") for n in range(50)], edge("r: u-r->v @11"))
    assert engine.tables() == {"P1": (1, 1), "P2": (0, 50)}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_edge_that_fits_two_leaves_is_not_joined_with_itself(strategy: SjTreeStrategy) -> None:
    free = pattern("a: x->y, b: y->z", morphism=Morphism.EDGE_ISOMORPHISM)
    for leaves in (EDGES, ((1,), (0,)), ((0, 1),)):
        assert list_emitted(free, leaves, strategy, "1: u-l->u @1") == []
        assert list_emitted(free, leaves, strategy, "1: u-l->u @1", "2: u-l->u @1") == ["+a=1 b=2 @1", "+a=2 b=1 @1"]
        assert list_emitted(free, leaves, strategy, "1: u-l->v @1", "2: v-l->w @2", "3: w-l->u @3") == [
            "+a=1 b=2 @2",
            "+a=2 b=3 @3",
            "+a=3 b=1 @3",
        ]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_parallel_query_edges_take_different_data_edges(strategy: SjTreeStrategy) -> None:
    twice = pattern("a: x->y, b: x->y")
    for leaves in (EDGES, ((0, 1),)):
        assert list_emitted(twice, leaves, strategy, "1: u-l->v @1", "2: u-l->v @1") == ["+a=1 b=2 @1", "+a=2 b=1 @1"]


CHAIN = pattern("a: x-r->y, b: y-c->z, c: z-c->w")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("arrivals", ["abc", "acb", "bac", "bca", "cab", "cba"])
def test_a_path_is_found_though_its_last_edge_arrives_away_from_the_cut(strategy: SjTreeStrategy, arrivals: str) -> None:
    ends = {"a": "u-r->v", "b": "v-c->w", "c": "w-c->t"}
    records = [f"{name}: {ends[name]} @{ts}" for ts, name in enumerate(arrivals)]
    for leaves in (((0,), (1, 2)), ((0,), (2, 1)), ((0, 1), (2,)), ((2, 1), (0,))):
        assert list_emitted(CHAIN, leaves, strategy, *records) == ["+a=a b=b c=c @2"]


RING = pattern("a: w->x, b: x->y, c: y->z, d: z->w")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_ring_of_two_paths_is_cut_at_two_vertices(strategy: SjTreeStrategy) -> None:
    ring = {"1": "p-l->q", "2": "q-l->r", "3": "r-l->s", "4": "s-l->p"}
    for arrivals in permutations(ring):
        records = [f"{name}: {ring[name]} @{ts}" for ts, name in enumerate(arrivals)]
        for leaves in (((0, 1), (2, 3)), ((1, 0), (3, 2)), ((0,), (1, 2), (3,))):
            assert len(list_emitted(RING, leaves, strategy, *records, "5: r-l->t @5", "6: t-l->p @6")) == 8


def test_a_place_of_the_cut_is_enabled_anew_after_its_partial_matches_expired() -> None:
    records = ["1: p-l->q @1", "2: q-l->r @2", "3: r-l->s @20", "4: s-l->p @21", "5: p-l->q @22", "6: q-l->r @23"]
    assert len(list_emitted(RING, ((0, 1), (2, 3)), SjTreeStrategy.PATH_LAZY, *records)) == 4


@pytest.mark.parametrize(
    ("leaves", "reason"),
    [
        (((0, 2), (1, 3)), "share no vertex"),
        (((0, 1, 2), (3,)), "one or two edges"),
        (((0, 1), (2,)), "every edge exactly once"),
        (((0,), (2,), (1,), (3,)), "not prefix-connected"),
    ],
)
def test_leaves_that_make_no_tree_are_refused(leaves: Leaves, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Engine(Plan(RING, SjTreePlan(leaves)))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_deleted_edges_take_part_in_nothing_new(strategy: SjTreeStrategy) -> None:
    assert list_emitted(PATH, EDGES, strategy, "2: v-c->w @1", "2: delete @2", "1: u-r->v @3") == []
    assert list_emitted(PATH, EDGES, strategy, "1: u-r->v @1", "1: delete @2", "2: v-c->w @3") == []
    assert list_emitted(CHAIN, ((0, 1), (2,)), strategy, "a: u-r->v @1", "b: v-c->w @2", "b: delete @3", "c: w-c->t @4") == []
    assert list_emitted(PATH, EDGES, strategy, "1: u-r->v @1", "2: v-c->w @2", "1: delete @3") == ["+a=1 b=2 @2", "-a=1 b=2 @3"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_edge_is_reported_at_once_and_not_stored(strategy: SjTreeStrategy) -> None:
    alone = pattern("a: x-r->y")
    assert list_emitted(alone, ((0,),), strategy, "1: u-r->v @1", "2: u-r->u @1", "3: u-r->v @1") == ["+a=1 @1", "+a=3 @1"]
    assert Engine(Plan(alone, SjTreePlan(((0,),), strategy))).tables() == {}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_equal_times_break_an_order_and_the_window_is_open_at_its_old_end(strategy: SjTreeStrategy) -> None:
    ordered = pattern("a: x-r->y, b: y-c->z", order="a<b")
    records = ["1: u-r->v @1", "2: v-c->w @1", "3: v-c->w @2", "4: v-c->w @10", "5: v-c->w @11"]
    assert list_emitted(ordered, EDGES, strategy, *records) == ["+a=1 b=3 @2", "+a=1 b=4 @10"]


def test_the_order_spares_the_tables_that_nothing_later_reads() -> None:
    edges = "a: x->y, b: y->z, c: z->w"
    single: Leaves = ((1,), (0,), (2,))

    def tables(order: str) -> set[str]:
        return set(Engine(Plan(pattern(edges, order=order), SjTreePlan(single, SjTreeStrategy.SINGLE))).tables())

    assert tables("") == {"P1", "P2", "J2", "P3"}
    assert tables("a<b b<c") == {"P2", "J2"}
    assert tables("c<b b<a") == {"P1", "P3"}


def test_partial_matches_expire_with_their_oldest_edge() -> None:
    long = pattern("a: x-r->y, b: y-c->z, c: z-c->w", window=100_000)
    engine = Engine(Plan(long, SjTreePlan(((0,), (1,), (2,)), SjTreeStrategy.SINGLE_LAZY)))
    engine.push(edge("2: v-c->w @1"), edge("1: u-r->v @90000"))
    assert engine.tables() == {"P1": (1, 1), "J2": (1, 1)}
    engine.push(edge("9: k-r->l @101000"))
    assert engine.tables() == {"P1": (2, 2), "J2": (0, 1)}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_expired_leaves_no_state_behind(strategy: SjTreeStrategy) -> None:
    def state(pairs: int) -> int:
        engine = Engine(Plan(RING, SjTreePlan(((0, 1), (2, 3)), strategy)))
        engine.push(*[edge(f"{n}{end}: {end}{n}-l->{to}{n} @1") for n in range(pairs) for end, to in ("pq", "qr")])
        engine.push(edge("late: p-l->q @1000"))
        return engine.matcher.patterns()[0].state_bytes

    assert state(1) == state(300)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_outlives_its_window_in_a_slot_takes_no_part(strategy: SjTreeStrategy) -> None:
    long = replace(PATH, window=Duration(100_000))
    records = ["1: u-r->v @0", "2: v-c->w @99999", "3: v-c->w @100000", "4: t-r->v @199999", "5: t-r->v @200000"]
    assert list_emitted(long, EDGES, strategy, *records) == ["+a=1 b=2 @99999", "+a=4 b=3 @199999"]


def star(limits: Limits, strategy: SjTreeStrategy) -> Engine:
    return Engine(Plan(PATH, SjTreePlan(EDGES, strategy)), limits)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_limits_fail_pause_or_shed(strategy: SjTreeStrategy) -> None:
    rays = [edge(f"{n}: u{n}-r->v @1") for n in range(5)]
    with pytest.raises(LimitExceededError):
        star(Limits(partial_matches=3), strategy).push(*rays)
    paused = star(Limits(partial_matches=3, policy="pause"), strategy)
    assert paused.push(*rays, edge("c: v-c->w @2")) == []
    assert paused.matcher.patterns()[0].paused
    shed = star(Limits(partial_matches=3, policy="shed"), strategy)
    found = shed.push(*rays, edge("c: v-c->w @2"))
    assert len(found) == 3
    assert {match.completeness.name for match in found} == {"SHED"}
    with pytest.raises(LimitExceededError):
        star(Limits(state_bytes=100), strategy).push(*rays)
