"""Any service may be killed at any time: what consumers get is what one undisturbed run over the same edges finds.

Edges come over HTTP in small requests, and a request that was not answered is sent again. The edges have ids, so those that
were taken before are dropped as duplicates.
"""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide_core.match import MatchKind
from graphtide_testing.whole import Whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

PATTERNS = (
    "PATTERN two MATCH (a)-[x:x]->(b)-[y:y]->(c) ON s WINDOW 60",
    "PATTERN loop MATCH (a)-[x:x]->(b)-[y:x]->(a) ORDER x < y ON s WINDOW 90",
    "PATTERN three MATCH (a)-[x:x]->(b)-[y:y]->(c)-[z:y]->(d) ORDER x < z ON s WINDOW 40",
    "PATTERN flow MATCH (a)-[x:x]->(b)-[y:y]->(c) ORDER x < y UNDER DUAL SIMULATION ON s WINDOW 10",
    "PATTERN once MATCH (a)-[x:x]->(b)-[y:y]->(c) ORDER x < y UNDER DUAL SIMULATION REPORT INSTANCES ON s WINDOW 60",
    "PATTERN fan MATCH (a)-[x:x *2]->(b)-[y:y]->(a) UNDER DUAL SIMULATION REPORT CHANGES ON s WINDOW 40",
)
SERVICES = ("ingestion", "planner", "statistics", "matcher_timing", "matcher_sjtree", "matcher_simulation", "admin_api")
REQUESTS = 60


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Whole]:
    made = Whole(tmp_path)
    made.start()
    yield made
    made.end()


def edges_of(rng: Random, number: int) -> list[dict[str, object]]:
    """Return the edges of a request; equal times among them."""
    made: list[dict[str, object]] = []
    for place in range(number * 8, number * 8 + 8):
        source, target = rng.sample("abcdefgh", 2)
        made.append({"id": f"e{place}", "ts": place * 3 // 4, "src": source, "dst": target, "label": rng.choice("xy")})
    return made


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 9))])
def test_services_killed_at_random_times(whole: Whole, seed: int) -> None:
    rng, sent = Random(seed), list[dict[str, object]]()
    for text in PATTERNS:
        whole.register(text)
    for number in range(REQUESTS):
        if number % 6 == 5:
            whole.restart_one(SERVICES, rng)
        edges = edges_of(rng, number)
        sent += edges
        whole.send_records("s", edges)
    whole.settle("s")

    ordered = whole.ordered_edges("s")
    assert sorted(edge["id"] for edge in ordered) == sorted(str(edge["id"]) for edge in sent)
    patterns = [pattern for text in PATTERNS for pattern in graphtide.parse(text)]
    # At the end of a table all windows pass; a stream has no end.
    expected = Counter(
        (match.query, match.match_id, match.kind.value)
        for match in graphtide.match(patterns, ordered)
        if match.kind is not MatchKind.RETRACT or match.detected_at < ordered[-1]["ts"]
    )
    assert {name for name, _, _ in expected} == {pattern.name for pattern in patterns}
    assert sum(expected.values()) > 100
    emitted = (json.loads(record) for record in whole.matches())
    assert Counter((each["query"], each["match_id"], each["kind"]) for each in emitted) == expected
