"""Sequencer, planner and statistics run twice: one of each may be killed at any time, and the other takes over.

What consumers get is what one undisturbed run finds, and no edge is ordered twice.
"""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import graphtide
import pytest
from graphtide_core.match import MatchKind
from graphtide_testing.servers.process import free_ports
from graphtide_testing.whole import Whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from graphtide_testing.deployment import Program

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

STREAMS = ("s", "t", "u")
PATTERN = "PATTERN on_{0} MATCH (a)-[x:x]->(b)-[y:y]->(c) ORDER x < y ON {0} WINDOW 60"
REQUESTS = 40


class Replicated:
    """A deployment whose sequencer, planner and statistics run twice each."""

    def __init__(self, folder: Path) -> None:
        twice = {"REPLICATED": "true"}
        self.whole = Whole(
            folder,
            {"ingestion": {"ROLES": '["http"]'}, "planner": twice, "statistics": twice},
            names=("ingestion", "admin_api", "planner", "statistics", "matcher_timing"),
        )
        self.pairs: list[list[Program]] = []

    def start(self) -> None:
        self.whole.start()
        deployment = self.whole.deployment
        ports = free_ports(2)
        own = {"ROLES": '["sequencer"]', "REPLICATED": "true", "INSECURE": "true", "LATENESS": "0", "IDLE_SECONDS": "1.0"}
        sequencers = [
            deployment.service("ingestion", {**own, "PORT": str(port)}, instance=f"-sequencer-{number}")
            for number, port in enumerate(ports)
        ]
        others = [deployment.service(name, {"REPLICATED": "true"}, instance="-1") for name in ("planner", "statistics")]
        for each in (*sequencers, *others):
            each.start()
        first = [self.whole.services[name] for name in ("planner", "statistics")]
        self.pairs = [sequencers, *([one, other] for one, other in zip(first, others, strict=True))]


@pytest.fixture
def replicated(tmp_path: Path) -> Iterator[Replicated]:
    made = Replicated(tmp_path)
    made.start()
    yield made
    made.whole.end()


def edges_of(rng: Random, number: int) -> list[dict[str, object]]:
    made: list[dict[str, object]] = []
    for place in range(number * 8, number * 8 + 8):
        source, target = rng.sample("abcdef", 2)
        made.append({"id": f"e{place}", "ts": place * 3 // 4, "src": source, "dst": target, "label": rng.choice("xy")})
    return made


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
def test_one_of_each_is_killed_and_the_other_takes_over(replicated: Replicated, seed: int) -> None:
    rng, whole = Random(seed), replicated.whole
    sent: dict[str, list[dict[str, object]]] = {stream: [] for stream in STREAMS}
    whole.send_records("s", [])
    killed: list[Program] = []
    for number in range(REQUESTS):
        if number == 1:
            for stream in STREAMS:
                whole.register(PATTERN.format(stream))
        if number % 8 == 4:
            # Those that were killed before come back, as a cluster starts them anew; then one of each pair ends.
            for each in killed:
                each.start()
            killed = [rng.choice([each for each in pair if each.is_running()]) for pair in replicated.pairs]
            for each in killed:
                each.kill()
        for stream in STREAMS:
            edges = edges_of(rng, number)
            sent[stream] += edges
            whole.send_records(stream, edges)
    for stream in STREAMS:
        whole.settle(stream)

    expected: Counter[tuple[str, str, str]] = Counter()
    for stream in STREAMS:
        ordered = whole.ordered_edges(stream)
        assert sorted(edge["id"] for edge in ordered) == sorted(str(edge["id"]) for edge in sent[stream])
        after = [edge for edge in ordered if int(str(edge["id"]).removeprefix("e")) >= 8]
        patterns = graphtide.parse(PATTERN.format(stream))
        expected += Counter(
            (match.query, match.match_id, match.kind.value)
            for match in graphtide.match(patterns, ordered)
            if match.kind is MatchKind.MATCH and match.detected_at >= after[0]["ts"]
        )
    emitted = Counter((each["query"], each["match_id"], each["kind"]) for each in map(json.loads, whole.matches()))
    assert sum(expected.values()) > 50
    assert max(emitted.values()) == 1
    assert expected.keys() <= emitted.keys()
    counted = {stream: sum(query == f"on_{stream}" and kind == "match" for query, _, kind in emitted) for stream in STREAMS}

    def count_of(stream: str) -> int:
        found: int = whole.pattern(f"on_{stream}")["figures"]["matches"]
        return found

    whole.wait_until(lambda: {stream: count_of(stream) for stream in STREAMS} == counted, "all matches are counted")
