"""Generated streams are in order, equal for equal recipes, and refuse recipes that leave no room."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from graphtide_generate import GENERATORS, network, payments, social, traffic
from graphtide_generate.frequencies import swap_ranks
from graphtide_generate.schedule import HOUR, MIDNIGHT
from graphtide_generate.stream import Recipe

RECIPE = Recipe(seed=7, records=2_000, planted=3, decoys=7)


@pytest.mark.parametrize("kind", GENERATORS)
def test_equal_recipes_give_equal_streams(kind: str) -> None:
    assert GENERATORS[kind](RECIPE) == GENERATORS[kind](RECIPE)
    assert GENERATORS[kind](RECIPE) != GENERATORS[kind](replace(RECIPE, seed=8))


@pytest.mark.parametrize("kind", GENERATORS)
def test_records_are_in_order_of_time_and_numbered_in_that_order(kind: str) -> None:
    stream = GENERATORS[kind](RECIPE)
    assert all(a.ts <= b.ts for a, b in pairwise(stream.edges))
    assert all(a.id < b.id for a, b in pairwise(stream.edges))
    assert re.fullmatch(r"[a-z]000000", stream.edges[0].id)
    assert len(stream.edges) == RECIPE.records + 10 * len(stream.planted[0].edges)
    assert stream.edges[0].ts >= MIDNIGHT


@pytest.mark.parametrize("kind", GENERATORS)
def test_the_ground_truth_names_edges_and_vertices_of_the_stream(kind: str) -> None:
    stream = GENERATORS[kind](RECIPE)
    by_id = {edge.id: edge for edge in stream.edges}
    assert (len(stream.planted), len(stream.decoys)) == (3, 7)
    for planted in stream.planted:
        ends = {end for identity in planted.edges.values() for end in (by_id[identity].source, by_id[identity].target)}
        assert set(planted.vertices.values()) == ends
        assert f"PATTERN {planted.pattern}\n" in stream.patterns


@pytest.mark.parametrize("kind", GENERATORS)
def test_all_flaws_occur(kind: str) -> None:
    flaws = {"network": network, "payments": payments, "social": social, "traffic": traffic}[kind].FLAWS
    stream = GENERATORS[kind](replace(RECIPE, decoys=len(flaws)))
    assert tuple(decoy.flaw for decoy in stream.decoys) == flaws


@pytest.mark.parametrize("kind", GENERATORS)
def test_nothing_gives_nothing(kind: str) -> None:
    assert GENERATORS[kind](Recipe(records=0, planted=0, decoys=0)).edges == ()


def test_flows_are_busiest_in_the_afternoon_and_few_hosts_make_most_of_them() -> None:
    edges = network.generate(network.NetworkOptions(Recipe(records=20_000, planted=0, decoys=0))).edges
    hours = Counter((edge.ts - MIDNIGHT) // HOUR for edge in edges)
    assert hours[14] > 3 * hours[2]
    hosts = Counter(end for edge in edges for end in (edge.source, edge.target) if end.startswith("10."))
    assert sum(count for _, count in hosts.most_common(200)) > len(edges) / 2


def test_flows_use_private_documentation_and_shared_addresses_alone() -> None:
    edges = network.generate(network.NetworkOptions(Recipe(records=5_000, planted=300, decoys=5))).edges
    allowed = re.compile(
        r"(10\.\d+|192\.0\.2|198\.51\.100|203\.0\.113|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d+)\.\d+|10\.\d+\.\d+\.\d+"
    )
    assert all(allowed.fullmatch(end) for edge in edges for end in (edge.source, edge.target))
    assert all(0 <= int(part) <= 255 for edge in edges for part in f"{edge.source}.{edge.target}".split("."))


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (lambda: Recipe(records=-1), "negative"),
        (lambda: network.NetworkOptions(RECIPE, hosts=9), "as many hosts"),
        (lambda: network.NetworkOptions(RECIPE, duration=network.WINDOW), "last longer"),
        (lambda: network.NetworkOptions(RECIPE, servers=10**8), "addresses"),
        (lambda: payments.PaymentOptions(RECIPE, customers=20), "21 customers"),
        (lambda: payments.PaymentOptions(RECIPE, duration=payments.WINDOW), "last longer"),
        (lambda: social.SocialOptions(RECIPE, users=30), "31 users"),
        (lambda: social.SocialOptions(RECIPE, duration=social.WINDOW), "last longer"),
        (lambda: traffic.TrafficOptions(RECIPE, rows=2), "room for 4"),
        (lambda: traffic.TrafficOptions(replace(RECIPE, swap_labels=True)), "nothing to swap"),
        (lambda: payments.PaymentOptions(replace(RECIPE, swap_labels=True)), "nothing to swap"),
        (lambda: traffic.TrafficOptions(RECIPE, duration=traffic.WINDOW), "last longer"),
    ],
)
def test_recipes_that_leave_no_room_are_refused(refused: object, reason: str) -> None:
    assert callable(refused)
    with pytest.raises(ValueError, match=reason):
        refused()


@pytest.mark.parametrize(("kind", "ranks"), [("network", ("https", "icmp")), ("social", ("likes", "posts"))])
def test_frequencies_of_labels_swap_half_way_where_asked(kind: str, ranks: tuple[str, str]) -> None:
    stream = GENERATORS[kind](Recipe(records=8_000, planted=0, decoys=0, swap_labels=True))
    before, after = (Counter(edge.label for edge in part) for part in (stream.edges[:4_000], stream.edges[4_000:]))
    frequent, rare = ranks
    assert before[frequent] > 2 * before[rare]
    assert after[rare] > 2 * after[frequent]
    assert before[frequent] + before[rare] == pytest.approx(after[frequent] + after[rare], rel=0.5)


def test_swapped_weights_turn_ranks_around_and_keep_shares_within_a_label() -> None:
    weights = {"a1": 6.0, "a2": 2.0, "b": 3.0, "c": 1.0}
    assert swap_ranks(weights, {"a1": "a", "a2": "a", "b": "b", "c": "c"}) == {"a1": 0.75, "a2": 0.25, "b": 3.0, "c": 8.0}
