"""Plans follow a stream that changes, and the matches stay those of the oracle."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from graphtide import MatchOptions, Session
from graphtide.adaptation import AdaptationPolicy, Watch
from graphtide.pipeline import MOST_ADAPTED
from graphtide.readers import ReaderOptions
from graphtide.readers.memory import from_edges
from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.statistics import DriftPolicy
from graphtide_core.time import EventTime
from graphtide_native.sampling import sample
from graphtide_query import parse_subgraphs
from graphtide_testing.found import keys
from graphtide_testing.oracles.subgraph import SubgraphOracle

CHAIN = "PATTERN p MATCH (v)-[x:a]->(w)-[y:b]->(s)-[z:c]->(t) ON s WINDOW 60"
EAGER = AdaptationPolicy(every=400, glance=150, sample=300, drift=DriftPolicy(fewest_edges=100))


def swapping_stream(records: int, seed: int = 3) -> list[Edge]:
    """Labels a, b, c with frequencies 40 : 10 : 1, and 1 : 10 : 40 from the middle on."""
    rng = Random(seed)
    return [
        Edge(
            EdgeId(f"e{number}"),
            EventTime(number),
            VertexId(f"v{rng.randrange(10)}"),
            VertexId(f"v{rng.randrange(10)}"),
            rng.choices("abc", (40, 10, 1) if number < records // 2 else (1, 10, 40))[0],
        )
        for number in range(records)
    ]


def test_plans_follow_a_swap_of_label_frequencies_and_no_match_changes() -> None:
    edges = swapping_stream(4_000)
    (pattern,) = parse_subgraphs(CHAIN)
    session = Session(pattern, MatchOptions(adaptation=EAGER))
    found = [match for start in range(0, len(edges), 100) for match in session.push(edges[start : start + 100])]
    found += session.finish()
    expected = sorted(SubgraphOracle(pattern).run(edges))
    assert len(expected) > 20
    assert keys(found) == expected
    assert session.replans, "the stream changed, so must the plan"
    assert all(1_900 < replan.records < 3_500 for replan in session.replans)


def test_plans_stay_where_the_stream_does() -> None:
    edges = swapping_stream(4_000)[:2_000]
    session = Session(CHAIN, MatchOptions(adaptation=EAGER))
    for start in range(0, len(edges), 100):
        session.push(edges[start : start + 100])
    assert session.replans == []


def test_plans_stay_if_adaptation_is_off() -> None:
    session = Session(CHAIN, MatchOptions(adapt=False, adaptation=EAGER))
    edges = swapping_stream(4_000)
    for start in range(0, len(edges), 100):
        session.push(edges[start : start + 100])
    assert session.replans == []


def watch_batches(batches: list[list[Edge]], policy: AdaptationPolicy) -> list[int]:
    """Return the places of the batches after which a watch, started on the first, has something to plan on."""
    options = ReaderOptions()
    decoded = [batch for records in batches for batch in from_edges(records, options).batches()]
    watch = Watch(options.symbols, sample(decoded[0], options.symbols), policy)
    return [place for place, batch in enumerate(decoded) if watch.look(batch) is not None]


def test_a_change_of_types_is_seen_at_a_glance_and_planned_on_a_sample_right_after() -> None:
    edges = swapping_stream(4_000)
    batches = [edges[start : start + 200] for start in range(0, len(edges), 200)]
    policy = AdaptationPolicy(every=400, glance=150, sample=300, drift=DriftPolicy(fewest_edges=100))
    # Glances fall on every second batch; the one at batch 11 is the first after the swap, and a sample takes two batches more.
    assert watch_batches(batches, policy) == [13]


def test_paths_that_change_while_types_stay_are_seen_by_the_next_sample() -> None:
    def edge(number: int, source: str, target: str, label: str) -> Edge:
        return Edge(EdgeId(f"e{number}"), EventTime(number), VertexId(source), VertexId(target), label)

    def chain(number: int) -> list[Edge]:
        return [edge(3 * number, "u", f"x{number}", "a"), edge(3 * number + 1, f"x{number}", "w", "b")]

    def fork(number: int) -> list[Edge]:
        return [edge(3 * number, f"y{number}", "u", "a"), edge(3 * number + 1, f"y{number}", "w", "b")]

    chains = [[one for number in range(100 * part, 100 * part + 100) for one in chain(number)] for part in range(6)]
    forks = [[one for number in range(100 * part, 100 * part + 100) for one in fork(number)] for part in range(6, 30)]
    policy = AdaptationPolicy(
        every=200, glance=100, sample=200, paths_every=5, drift=DriftPolicy(path_order=0.01, fewest_edges=50)
    )
    assert watch_batches([*chains, *forks], policy) == [9]


@pytest.mark.parametrize("others", [0, MOST_ADAPTED])
def test_event_patterns_get_a_plan_for_the_stream_as_it_has_become_and_no_match_changes(others: int) -> None:
    # What follows A, B, C becomes so rare that they are not worth storing any more.
    rng, half = Random(3), 1_200
    types = [*rng.choices("ABCDEFG", (1, 1, 1, 3, 3, 3, 3), k=half), *rng.choices("ABCDEFG", (99, 99, 99, 1, 1, 1, 1), k=half)]
    ticks = [number // 7 if number < half else half // 7 + (number - half) // 3 for number in range(2 * half)]
    records = [{"ts": ts, "type": kind, "id": f"e{number}"} for number, (ts, kind) in enumerate(zip(ticks, types, strict=True))]
    texts = (f"PATTERN p{kind} SEQ(a:A, b:B, c:C, d:{kind}, NOT n:{kind}) ON s WITHIN 10ms" for kind in "DEFG")
    beside = (f"PATTERN q{number} SEQ(x:X, y:Y{number}) ON s WITHIN 10ms" for number in range(others))
    session = Session(" ".join((*texts, *beside)), MatchOptions(adaptation=EAGER))
    found = [match for start in range(0, len(records), 100) for match in session.push(records[start : start + 100])]
    found += session.finish()
    fixed = Session(session.patterns, MatchOptions(adapt=False))
    assert [replan.pattern for replan in session.replans if replan.pattern.startswith("p")] == ["pD", "pE", "pF", "pG"]
    assert all(half < replan.records < 2 * half for replan in session.replans)
    assert sum(match.detected_at > ticks[session.replans[0].records] for match in found) > 1_000
    assert Counter(map(str, found)) == Counter(map(str, fixed.run(records)))
