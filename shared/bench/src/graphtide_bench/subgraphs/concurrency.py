"""Measures one pattern on several threads, with locks taken one by one or all at once, against one thread.

The patterns are those whose joins cost most: stars and the tree, without an order and with a partial one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_native.spec import Concurrency

from graphtide_bench.subgraphs import single as subgraph
from graphtide_bench.workloads.workload import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from graphtide_bench.subgraphs.measurement import Measurement

LOCKINGS: Final = ("fine", "all")
PATTERNS: Final = ("star4_empty", "star4_partial", "star5_empty", "star5_partial", "tree6_empty", "tree6_partial")
ENGINE: Final = "timing"
"""The engine that takes threads."""

_CASES = (("B", 50_000), ("F", 10_000))


def run(
    threads: Sequence[int],
    patterns: Sequence[str],
    repeats: int,
    cache: Path,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Measurement, ...]:
    """Measure one thread, and every other number of threads with either locking."""
    ways = [Concurrency()]
    ways += [Concurrency(number, locking) for number in sorted(set(threads) - {1}) for locking in LOCKINGS]
    found: list[Measurement] = []
    for name, window in _CASES:
        settings = subgraph.RunMatrix(
            workloads=(WORKLOADS[name],),
            cache=cache,
            windows=(window,),
            engines=(ENGINE,),
            concurrency=tuple(ways),
            pattern=tuple(patterns),
            repeats=repeats,
        )
        found.extend(subgraph.run(settings, progress))
    return tuple(found)
