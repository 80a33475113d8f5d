"""An adversary among ordinary patterns: a search that would never end, in a stream that keeps asking for it.

The adversary is a star of eight around one vertex, with a condition on its first and its last edge that never holds. Every
third edge of the stream leaves that vertex. Beside it run ordinary chains, each over labels of its own. One of them is heavy:
it does more than ten times the work of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime

if TYPE_CHECKING:
    from collections.abc import Iterator

ORDINARY: Final = 20
HEAVY: Final = "PATTERN heavy MATCH (a)-[f:y]->(b), (a)-[g:z]->(c) ORDER f < g ON s WINDOW 100ms"


def star(name: str, window: str) -> str:
    """Return the text of an adversary."""
    arms = ", ".join(f"(h)-[e{number}:x]->(v{number})" for number in range(1, 9))
    return f"PATTERN {name} MATCH {arms} WHERE e1.ts + e8.ts < 0 ON s WINDOW {window}"


ADVERSARY: Final = star("adversary", "10m")


def ordinary() -> tuple[str, ...]:
    """Return the texts of the ordinary patterns."""
    return tuple(
        f"PATTERN p{number} MATCH (a)-[f:a{number}]->(b)-[g:b{number}]->(c) ON s WINDOW 2s" for number in range(ORDINARY)
    )


def edges(first: int, number: int) -> Iterator[Edge]:
    """Yield edges of the stream from a place on: one a millisecond."""
    for place in range(first, first + number):
        turn, kind = divmod(place, 3)
        if kind == 0:
            yield _edge(place, "x", "hub", f"v{place}")
        elif kind == 1:
            # Vertices come again within the window: every chain is completed now and then.
            label = "ab"[turn // ORDINARY % 2]
            vertex = turn // (2 * ORDINARY) % 5
            ends = (f"s{vertex}", f"m{vertex}") if label == "a" else (f"m{vertex}", f"t{vertex}")
            yield _edge(place, f"{label}{turn % ORDINARY}", *ends)
        else:
            yield _edge(place, "yz"[turn % 4 == 0], "centre", f"w{place % 97}")


def _edge(place: int, label: str, source: str, target: str) -> Edge:
    return Edge(EdgeId(f"e{place}"), EventTime(place), VertexId(source), VertexId(target), label)
