"""Simulations end, whatever they are given."""

from __future__ import annotations

import json

from graphtide_admin_api.application.simulating import simulate

STAR = "PATTERN star MATCH " + ", ".join(f"(h)-[e{number}:x]->(v{number})" for number in range(1, 9))


def test_a_simulation_without_end_is_cut_short() -> None:
    """A star of eight around one vertex with a predicate that never holds: undisturbed it would go on for years."""
    edges = [json.dumps({"ts": ts, "src": "h", "dst": f"v{ts}", "label": "x", "w": 1}).encode() for ts in range(3_000)]
    for engine in ("re-search", "filtering", "timing", "sj-tree"):
        simulated = simulate(f"{STAR} WHERE e1.w + e8.w < 0 ON s WINDOW 10m", edges, engine)
        assert (simulated.matches, simulated.truncated) == ([], True)
