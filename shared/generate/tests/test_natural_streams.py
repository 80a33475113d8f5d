"""Streams without planted instances are in order, equal for equal recipes, of the shape they promise, and hold components."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from graphtide_generate import GENERATORS, NATURAL, calls, citations, retweets, roads
from graphtide_generate.schedule import DAY, HOUR, MINUTE
from graphtide_generate.stream import Recipe
from graphtide_query import parse_subgraphs
from graphtide_query.planner import plan
from graphtide_testing.feeding import Feed
from graphtide_testing.oracles.simulation import SimulationOracle

if TYPE_CHECKING:
    from collections.abc import Callable

RECIPE = Recipe.of_nature(7, 2_000)


@pytest.mark.parametrize("kind", NATURAL)
def test_equal_recipes_give_equal_streams(kind: str) -> None:
    assert NATURAL[kind](RECIPE) == NATURAL[kind](RECIPE)
    assert NATURAL[kind](RECIPE) != NATURAL[kind](Recipe.of_nature(8, 2_000))


@pytest.mark.parametrize("kind", NATURAL)
def test_records_are_in_order_of_time_and_numbered_in_that_order(kind: str) -> None:
    stream = NATURAL[kind](RECIPE)
    assert all(a.ts <= b.ts for a, b in pairwise(stream.edges))
    assert all(a.id < b.id for a, b in pairwise(stream.edges))
    assert re.fullmatch(r"[a-z]000000", stream.edges[0].id)
    assert (len(stream.edges), stream.planted, stream.decoys) == (2_000, (), ())


def test_a_kind_has_one_way_to_be_made() -> None:
    assert not set(NATURAL) & set(GENERATORS)


@pytest.mark.parametrize("kind", NATURAL)
def test_nothing_gives_nothing(kind: str) -> None:
    assert NATURAL[kind](Recipe.of_nature(1, 0)).edges == ()


@pytest.mark.parametrize("kind", NATURAL)
def test_the_pattern_finds_components(kind: str) -> None:
    stream = NATURAL[kind](Recipe.of_nature(1, 20_000))
    (pattern,) = parse_subgraphs(stream.patterns)
    feed = Feed(plan(pattern, "auto"))
    assert sum(len(feed.push(edge)) for edge in stream.edges) >= 3


def test_the_oracle_finds_the_same_on_a_small_town() -> None:
    options = roads.RoadOptions(Recipe.of_nature(3, 250), rows=4, columns=4, downtown=4, rush=0.5)
    stream = roads.generate(options)
    (pattern,) = parse_subgraphs(stream.patterns)
    oracle, feed = SimulationOracle(pattern), Feed(plan(pattern, "ddst-coloring"))
    found = 0
    for edge in stream.edges:
        reported = [frozenset(each.edges) for each in feed.push(edge)]
        assert reported == [each.pairs for each in oracle.push(edge)]
        found += len(reported)
    assert found > 3


def test_roads_join_neighbours_and_downtown_is_jammed_most() -> None:
    edges = roads.generate(roads.RoadOptions(Recipe.of_nature(1, 20_000))).edges
    ends = [[tuple(map(int, end[1:].split("-"))) for end in (e.source, e.target)] for e in edges]
    assert all(abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1 for a, b in ends)
    is_downtown = [all(abs(row - 5) <= 3 and abs(column - 27) <= 3 for row, column in pair) for pair in ends]
    bad = Counter((place, edge.label == "bad") for place, edge in zip(is_downtown, edges, strict=True))
    assert bad[True, True] / bad[True, False] > 5 * bad[False, True] / bad[False, False]
    assert 4 * MINUTE < (edges[-1].ts - edges[0].ts) * len(set(map(tuple, ends))) / len(edges) < 6 * MINUTE


def test_calls_are_between_core_and_periphery_and_some_are_tried_again() -> None:
    edges = calls.generate(calls.CallOptions(Recipe.of_nature(1, 20_000))).edges
    assert {frozenset((e.source_label, e.target_label)) for e in edges} == {frozenset(("core", "periphery"))}
    assert len({end for e in edges for end in (e.source, e.target) if end.startswith("c")}) == 94
    assert 2 * MINUTE < (edges[-1].ts - edges[0].ts) / len(edges) < 4 * MINUTE
    again = sum(1 for a, b in pairwise(edges) if a.label == "short" and (a.source, a.target) == (b.source, b.target))
    assert again > len(edges) / 50


def test_patents_cite_earlier_ones_when_they_are_issued() -> None:
    edges = citations.generate(citations.CitationOptions(Recipe.of_nature(1, 20_000))).edges
    assert all(int(e.source[1:]) > int(e.target[1:]) for e in edges)
    assert len({(e.source, e.ts) for e in edges}) == len({e.source for e in edges})
    assert {e.source_label for e in edges} == set(citations.COUNTRIES)
    assert 400 * DAY < edges[-1].ts - edges[0].ts < 420 * DAY


def test_few_users_have_most_retweets() -> None:
    edges = retweets.generate(retweets.RetweetOptions(Recipe.of_nature(1, 20_000))).edges
    assert {(e.label, e.target_label) for e in edges} == {("posts", "message"), ("retweet", "user"), ("reply", "user")}
    handed_on = Counter(e.source for e in edges if e.label == "retweet")
    assert sum(count for _, count in handed_on.most_common(200)) > 0.3 * handed_on.total()
    assert 50 * HOUR < edges[-1].ts - edges[0].ts < 60 * HOUR


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (lambda: roads.RoadOptions(Recipe()), "nothing is planted"),
        (lambda: calls.CallOptions(Recipe()), "nothing is planted"),
        (lambda: citations.CitationOptions(Recipe(planted=0, decoys=0, swap_labels=True)), "no labels swap"),
        (lambda: retweets.RetweetOptions(Recipe()), "nothing is planted"),
        (lambda: roads.RoadOptions(RECIPE, rows=1), "grid of 1 x 55"),
        (lambda: roads.RoadOptions(RECIPE, watched=0), "shares"),
        (lambda: calls.CallOptions(RECIPE, core=0), "someone to call"),
        (lambda: calls.CallOptions(RECIPE, long=2.0), "shares"),
        (lambda: citations.CitationOptions(RECIPE, recent=0.5), "younger than itself"),
        (lambda: retweets.RetweetOptions(RECIPE, users=1), "two users"),
        (lambda: retweets.RetweetOptions(RECIPE, posts=-1), "shares"),
    ],
)
def test_what_cannot_be_is_refused(refused: Callable[[], object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        refused()
