"""Dry runs end, with any input."""

from __future__ import annotations

import json

import pytest
from graphtide_admin_api.application.dry_run import dry_run

STAR = "PATTERN star MATCH " + ", ".join(f"(h)-[e{number}:x]->(v{number})" for number in range(1, 9))


def test_a_dry_run_without_end_is_cut_short() -> None:
    """A star of eight around one vertex with a predicate that never holds: undisturbed it would run for years."""
    edges = [json.dumps({"ts": ts, "src": "h", "dst": f"v{ts}", "label": "x", "w": 1}).encode() for ts in range(3_000)]
    for engine in ("re-search", "filtering", "timing", "sj-tree"):
        tried = dry_run(f"{STAR} WHERE e1.w + e8.w < 0 ON s WINDOW 10m", edges, engine)
        assert (tried.matches, tried.truncated) == ([], True)


def test_what_follows_from_time_alone_is_found_at_the_end() -> None:
    text = "PATTERN pair MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y UNDER DUAL SIMULATION REPORT CHANGES ON s WINDOW 10ms"
    edges = [json.dumps({"ts": ts, "src": f"v{ts}", "dst": f"v{ts + 1}", "label": "k"}).encode() for ts in (1, 2)]
    emitted = [json.loads(each) for each in dry_run(text, edges).matches]
    assert [(each["kind"], each["detected_at"]) for each in emitted] == [("match", 2), ("retract", 11)]


@pytest.mark.parametrize(
    "text",
    [
        STAR + " ON s WINDOW 10m",
        STAR + " UNDER DUAL SIMULATION ON s WINDOW 10m",
        f"q(x, y) <- /{':a? ' * 24}:b/(x, y). ON s WINDOW(1h)",
    ],
)
def test_planning_ends_with_the_request_that_it_is_for(text: str) -> None:
    edges = [b'{"ts": 1, "src": "h", "dst": "v", "label": "a"}']
    tried = dry_run(text, edges, is_unwanted=lambda: True)
    assert (tried.engines, tried.truncated) == ({}, True)
