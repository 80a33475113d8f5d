"""Events among edges change nothing of what subgraph patterns find, in windows of time and of edges."""

from __future__ import annotations

import graphtide
import pytest
from hypothesis import given
from hypothesis import strategies as st

PATTERNS = [
    "PATTERN pair MATCH (a)-[x]->(b)-[y]->(c) ORDER x < y ON s WINDOW 4",
    "PATTERN counted MATCH (a)-[x]->(b)-[y]->(c) ON s WINDOW 3 EDGES",
    "PATTERN alike MATCH (a)-[x]->(b)-[y]->(a) UNDER DUAL SIMULATION ON s WINDOW 4",
]
vertices = st.sampled_from("abc")
edges = st.tuples(vertices, vertices)
records = st.lists(st.tuples(st.integers(0, 2), st.none() | edges), max_size=15)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(records)
def test_events_are_nothing_to_subgraph_patterns(pattern: str, records: list[tuple[int, tuple[str, str] | None]]) -> None:
    ts = 0
    stream: list[dict[str, object]] = []
    for later, ends in records:
        ts += later
        stream.append(
            {"ts": ts, "type": "reading", "id": f"r{len(stream)}"}
            if ends is None
            else {"ts": ts, "src": ends[0], "dst": ends[1], "label": "reading", "id": f"e{len(stream)}"}
        )
    found = list(graphtide.match(pattern, stream))
    assert found == list(graphtide.match(pattern, [each for each in stream if "src" in each]))
