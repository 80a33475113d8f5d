"""How much dearer than those of an unbounded search the plans are that the budget leaves, as the cost model estimates.

`python -m graphtide_bench.planning.budget [--edges 20,24,28] [--seconds 300] [--engines timing,auto]` draws patterns and
streams from seeds: shapes, timing orders, labels, predicates; streams with nothing, edge types, or 2-edge paths known, with
hubs or without. Both plans are made for each engine. Of an engine it prints how many were compared, the worst ratio, where that
was, and how many ratios are above 1.2. The comparison ends when its seconds are over.
"""

from __future__ import annotations

import itertools
import random
import time
from collections import defaultdict
from math import exp, isqrt
from typing import TYPE_CHECKING

from graphtide_core.ids import PatternName, StreamName
from graphtide_core.order import TimingOrder
from graphtide_core.pattern import QueryEdge, QueryVertex, SubgraphPattern
from graphtide_core.predicate import Attribute, Compare, Comparison, Literal
from graphtide_core.statistics import Direction, EdgeEnd, EdgeType, PathType, StatisticsSnapshot
from graphtide_core.time import Duration, EventTime
from graphtide_query.estimates.budget import PlanningBudget
from graphtide_query.estimates.colocation import EngineLoad
from graphtide_query.estimates.cost_model import CostModel
from graphtide_query.families import AUTO, FAMILIES, engine_of
from graphtide_query.planner import plan

from graphtide_bench.frame.script import Script

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from graphtide_core.predicate import Expression

SHAPES = ("chain", "cycle", "star", "tree", "clique", "dense", "random")
ORDERS = ("none", "total", "sparse", "layers")
KNOWN = ("nothing", "types", "paths")
LABELS = [f"l{number}" for number in range(5)]
UNBOUNDED = PlanningBudget(search=100_000_000, most=1_000_000_000)
WINDOW = 1_000


def ends(shape: str, edges: int, drawn: random.Random) -> list[tuple[int, int]]:
    """Return the ends of a pattern's edges; it is connected."""
    match shape:
        case "chain":
            return [(place, place + 1) for place in range(edges)]
        case "cycle":
            return [(place, (place + 1) % edges) for place in range(edges)]
        case "star":
            return [(0, place + 1) for place in range(edges)]
        case "tree":
            return [(place // 2, place + 1) for place in range(edges)]
        case "clique":
            pairs = itertools.combinations(range(edges), 2)
            return sorted(pairs, key=lambda pair: (max(pair), pair))[:edges]
    vertices = max(3, isqrt(edges) if shape == "dense" else edges // 2)
    tree = [(drawn.randrange(place), place) for place in range(1, vertices)]
    return tree + [(drawn.randrange(vertices), drawn.randrange(vertices)) for _ in range(edges - len(tree))]


def before(order: str, edges: int, drawn: random.Random) -> Iterator[tuple[str, str]]:
    """Yield which edges are before which."""
    for one, other in itertools.combinations(range(edges), 2):
        comes = {
            "none": False,
            "total": other == one + 1,
            "sparse": drawn.random() < 2 / edges,
            "layers": one % 4 < other % 4,
        }
        if comes[order]:
            yield f"e{one}", f"e{other}"


def pattern_of(shape: str, order: str, edges: int, *, predicates: bool, drawn: random.Random) -> SubgraphPattern:
    """Draw a pattern."""
    parts = []
    for place, (one, other) in enumerate(ends(shape, edges, drawn)):
        source, target = (one, other) if drawn.random() < 0.5 else (other, one)
        parts.append(QueryEdge(f"e{place}", f"v{source}", f"v{target}", drawn.choice([*LABELS, None])))
    vertices = dict.fromkeys(end for part in parts for end in (part.source, part.target))
    conditions: list[Expression] = [
        Compare(Comparison.GREATER, Attribute(part.name, "x"), Literal(1))
        for part in parts
        for _ in range(drawn.choice([0, 0, 1, 2]))
    ]
    return SubgraphPattern(
        PatternName(f"{shape}, {order}"),
        tuple(map(QueryVertex, vertices)),
        tuple(parts),
        Duration(WINDOW),
        StreamName("s"),
        TimingOrder.of(before(order, edges, drawn)),
        tuple(conditions) if predicates else (),
    )


def stream_of(known: str, drawn: random.Random) -> StatisticsSnapshot:
    """Draw what is known of a stream."""
    if known == "nothing":
        return StatisticsSnapshot()
    scale, vertices, hubs = 10 ** drawn.uniform(4, 6.3), int(10 ** drawn.uniform(1.5, 4)), 10 ** drawn.uniform(0, 2)
    types = {EdgeType(None, label, None): int(scale * exp(-4 * drawn.random())) for label in LABELS}
    paths = {}
    if known == "paths":
        all_ends = [EdgeEnd(kind, direction) for kind in types for direction in Direction]
        for one, other in itertools.combinations_with_replacement(all_ends, 2):
            if drawn.random() < 0.8:
                even = types[one.kind] * types[other.kind] / vertices / (1 + (one == other))
                paths[PathType.of(one, other)] = int(even * hubs * 10 ** drawn.uniform(-2, 1))
    return StatisticsSnapshot(
        first_ts=EventTime(0),
        last_ts=EventTime(10 * WINDOW),
        edges=sum(types.values()),
        vertices=vertices,
        types=types,
        paths=paths or None,
    )


def compare(given: argparse.Namespace) -> dict[str, list[tuple[float, str]]]:
    """Return the ratios of each engine, and their cases, that fit into the time."""
    end = time.monotonic() + given.seconds
    ratios: dict[str, list[tuple[float, str]]] = defaultdict(list)
    sizes = [int(size) for size in given.edges.split(",")]
    for seed in itertools.count():
        for edges, shape, order, known, predicates in itertools.product(sizes, SHAPES, ORDERS, KNOWN, (False, True)):
            case = f"{edges} edges, {shape}, {order}, {known}, predicates {predicates}, seed {seed}"
            drawn = random.Random(case)  # noqa: S311 - the same patterns again, no secret
            pattern = pattern_of(shape, order, edges, predicates=predicates, drawn=drawn)
            statistics = stream_of(known, drawn)
            model = CostModel(pattern, statistics, WINDOW)
            for engine in given.engines.split(","):
                if time.monotonic() > end:
                    return ratios
                made = [plan(pattern, engine, statistics=statistics, budget=budget) for budget in (PlanningBudget(), UNBOUNDED)]
                bounded, unbounded = [
                    engine_of(each.physical).cost(model, each.physical, EngineLoad()).nanoseconds for each in made
                ]
                ratios[engine].append((bounded / unbounded, case))
    raise AssertionError  # seeds do not end


def main() -> None:
    """Compare until the time is over, and show a row for each engine."""
    script = Script(__file__, __doc__)
    script.option("--edges", default="20,24,28")
    script.option("--seconds", type=float, default=300)
    script.option("--engines", default=",".join((*FAMILIES["isomorphism"].names, AUTO)))
    given = script.arguments()
    for engine, found in compare(given).items():
        worst, case = max(found)
        above = sum(ratio > 1.2 for ratio, _ in found)
        counts = {"compared": len(found), "worst": float(f"{worst:.3g}"), "above 1.2": above}
        script.add({"engine": engine, "worst case": case, **counts})
    script.hand_out()


if __name__ == "__main__":
    main()
