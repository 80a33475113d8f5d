"""Measures what counts of a running plan are worth: a stream whose correlations fool the estimates.

`python -m graphtide_bench.planning.counted`

Vertices have tiers, edges stay within one, and three attributes of an edge all say the tier. The pattern is a path of three
edges whose first is of one tier, by all three attributes. The estimates take that for three independent conditions, so the
first edge looks rare, and its joins are the largest. Each engine is planned by the statistics of the stream. It is planned
again with the counts of what its plan stored after a part of the stream. Both plans are run over all of it, in turn, and find
the same matches. Time is processor time of the matcher.
"""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from graphtide_core.time import TimeUnit
from graphtide_native.stages import Stages
from graphtide_query import parse_subgraphs
from graphtide_query.explanation import Seen
from graphtide_query.families import AUTO, PlannerOptions, family_of
from graphtide_query.families.family import PlanningContext
from graphtide_wire.partial_matches import read_view

from graphtide_bench.frame.runs import Spread
from graphtide_bench.frame.script import Script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.plans import Assigned, CountedPart
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_native.records import EdgeBatch

    from graphtide_bench.frame.script import Row

TEXT: Final = """
PATTERN transfer
MATCH (a)-[x:pays]->(b)-[y:pays]->(c)-[z:cashes]->(d)
WHERE x.tier = 2 AND x.limit = 2000 AND x.branch = -2
ON payments WINDOW {window}
"""

_TIERS: Final = 3
_RARE: Final = 0.1
"""Share of edges that cash."""

_BATCH: Final = 4_096


@dataclass(frozen=True, slots=True)
class Ran:
    """A plan over the whole stream: processor seconds, the most partial matches at once, and matches."""

    seconds: float
    peak: int
    matches: int


class FoolingStream:
    """A stream in memory, with its statistics."""

    def __init__(self, edges: int, window: int, vertices: int, seed: int) -> None:
        """Draw it."""
        (self.pattern,) = parse_subgraphs(TEXT.format(window=window))
        self._stages = Stages.of([self.pattern], TimeUnit.MILLISECOND)
        decoder, rng = self._stages.json_decoder(), random.Random(seed)  # noqa: S311 - a stream, not a secret
        lines = [_line(number, vertices, rng) for number in range(edges)]
        self.batches: list[EdgeBatch] = [
            decoder.decode("".join(lines[start : start + _BATCH]).encode()) for start in range(0, edges, _BATCH)
        ]
        statistics = self._stages.statistics()
        for batch in self.batches:
            statistics.push(batch)
        self.statistics: StatisticsSnapshot = statistics.snapshot()

    def run(self, plan: Assigned) -> Ran:
        """Match the whole stream."""
        matcher = self._stages.matcher([plan])  # type: ignore[list-item]  # it is of a subgraph pattern
        begun = time.process_time()
        matches = sum(len(found) for batch in self.batches for found in matcher.push(batch))
        return Ran(time.process_time() - begun, matcher.totals().peak_partial_matches, matches)

    def counted(self, plan: Assigned, context: PlanningContext) -> tuple[CountedPart, ...]:
        """Return what a plan stores in the middle of the stream, beside the estimates."""
        matcher = self._stages.matcher([plan])  # type: ignore[list-item]  # as above
        for batch in self.batches[: len(self.batches) // 2]:
            for _ in matcher.push(batch):
                pass
        alive = {step.name: step.alive for step in read_view(matcher.partial_matches(0)).steps}
        return family_of(self.pattern).counted(self.pattern, plan.physical, alive, context)


def _line(number: int, vertices: int, rng: random.Random) -> str:
    tier = rng.randrange(_TIERS)
    source, target = (f"v{tier + _TIERS * rng.randrange(vertices // _TIERS)}" for _ in range(2))
    label = "cashes" if rng.random() < _RARE else "pays"
    record = {"ts": number, "src": source, "dst": target, "label": label, "tier": tier, "limit": 1000 * tier, "branch": -tier}
    return json.dumps(record) + "\n"


def join_of(pattern: SubgraphPattern, plan: Assigned) -> str:
    """Describe the choice of a plan: its engine, and the settings that say in which order it joins or searches."""
    family = family_of(pattern)
    found = family.explain_assigned(pattern, plan.physical, (), Seen(), TimeUnit.MILLISECOND)
    how = found.settings.get("decomposition") or found.settings.get("leaves") or ""
    return f"{found.engine} {how}".strip()


def measure(stream: FoolingStream, engine: str, repeats: int) -> Iterator[Row]:
    """Yield rows: the plan by estimates and the plan by counts, each with its rate, state and matches."""
    pattern, family, options = stream.pattern, family_of(stream.pattern), PlannerOptions(engine)
    bare = PlanningContext(statistics=stream.statistics)
    by_estimates = family.assign(pattern, options, bare)
    evidence = stream.counted(by_estimates, bare)
    by_counts = family.assign(pattern, options, replace(bare, evidence=evidence))
    plans = {"estimates": by_estimates, "counts": by_counts}
    runs: dict[str, list[Ran]] = {name: [] for name in plans}
    for _ in range(repeats):
        for name, plan in plans.items():
            runs[name].append(stream.run(plan))
    if len({ran.matches for some in runs.values() for ran in some}) != 1:
        message = f"{engine}: the plans find different matches"
        raise AssertionError(message)
    edges = sum(map(len, stream.batches))
    refuted = "; ".join(f"{', '.join(each.edges)}: {each.estimated:,.0f}, counted {each.counted:,.0f}" for each in evidence)
    for name, some in runs.items():
        yield {
            "planned for": engine,
            "by": name,
            "plan": join_of(pattern, plans[name]),
            "estimates refuted": refuted,
            "edges/s": Spread.of(edges / ran.seconds for ran in some).rounded(0),
            "most partial matches": some[0].peak,
            "matches": some[0].matches,
        }


def main() -> None:
    """Measure, and show the plans of each engine."""
    script = Script(__file__, __doc__)
    script.option("--edges", type=int, default=60_000, help="edges of the stream")
    script.option("--window", type=int, default=6_000, help="edges of the window")
    script.option("--vertices", type=int, default=600, help="vertices of the stream")
    script.option("--repeats", type=int, default=5, help="runs of each plan, in turn")
    script.option("--seed", type=int, default=1, help="seed of the stream")
    asked = script.arguments()
    stream = FoolingStream(asked.edges, asked.window, asked.vertices, asked.seed)
    for engine in ("timing", "sj-tree", AUTO):
        for row in measure(stream, engine, asked.repeats):
            script.add(row)
    script.hand_out()


if __name__ == "__main__":
    main()
