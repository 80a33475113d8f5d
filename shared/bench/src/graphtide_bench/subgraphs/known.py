"""Holds the match counts known for the named workloads, and checks measurements against them.

Stream B with a window of 20,000: the counts of path4, star4, cycle4 and tree6 were noted with measurements of other systems,
before these engines. The rest are what all engines and storages agree on; they keep a change from going unnoticed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError

from graphtide_bench.workloads.queries import ORDERS
from graphtide_bench.workloads.workload import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_bench.subgraphs.measurement import Measurement

KNOWN: Final[Mapping[tuple[str, int], Mapping[str, tuple[int, int, int]]]] = {
    ("B", 10_000): {
        "path4": (146, 53, 11),
        "path5": (28, 6, 2),
        "path6": (5, 1, 1),
        "star4": (3_911, 1_193, 148),
        "star5": (1_071, 98, 6),
        "tree6": (17, 2, 1),
        "tri_tail4": (35, 18, 6),
        "cycle4": (5, 1, 1),
        "tri2_5": (2, 2, 1),
    },
    ("B", 20_000): {
        "path4": (598, 127, 20),
        "path5": (135, 9, 1),
        "path6": (61, 1, 1),
        "star4": (81_836, 25_722, 3_415),
        "star5": (20_292, 1_480, 87),
        "tree6": (270, 6, 1),
        "tri_tail4": (82, 35, 22),
        "cycle4": (15, 9, 1),
        "tri2_5": (1, 1, 1),
    },
    ("B", 50_000): {
        "path4": (5_916, 1_381, 263),
        "path5": (3_703, 833, 21),
        "path6": (3_564, 377, 7),
        "star4": (1_040_087, 361_380, 45_925),
        "star5": (607_946, 83_952, 5_769),
        "tree6": (20_518, 2_116, 26),
        "tri_tail4": (114, 43, 6),
        "cycle4": (28, 5, 5),
        "tri2_5": (1, 1, 1),
    },
    ("E", 50_000): {
        "path4": (540, 164, 20),
        "path5": (131, 24, 2),
        "path6": (4, 1, 1),
        "star4": (9_309, 3_276, 425),
        "star5": (9_900, 792, 74),
        "tree6": (158, 15, 1),
        "tri_tail4": (37, 11, 8),
        "cycle4": (13, 3, 1),
        "tri2_5": (1, 1, 1),
    },
    ("F", 10_000): {
        "path4": (9_659, 3_330, 359),
        "path5": (1_233, 224, 8),
        "path6": (812, 29, 6),
        "star4": (456_180, 144_146, 18_558),
        "star5": (378_840, 68_760, 1_830),
        "tree6": (2_007, 95, 4),
        "tri_tail4": (201, 58, 3),
        "cycle4": (19, 6, 3),
        "tri2_5": (14, 3, 2),
    },
    ("T", 1_000): {
        "path4": (1_020, 189, 45),
        "path5": (461, 48, 3),
        "path6": (414, 71, 4),
        "star4": (5_504, 1_797, 179),
        "star5": (312_810, 29_917, 4_087),
        "tree6": (9_028, 330, 25),
        "tri_tail4": (15, 4, 1),
        "cycle4": (13, 6, 1),
    },
}
"""By workload and window, for patterns drawn from as many edges: shape, and matches under each of `ORDERS`."""


def check(measurements: Iterable[Measurement]) -> str:
    """Return what was checked, in a sentence.

    Raises:
        FatalError: a count differs from what is known, or two ways of finding the same pattern differ.
    """
    agreed: dict[tuple[str, int, int, int, str], Measurement] = {}
    known, compared = set(), set()
    for found in measurements:
        key = (found.workload, found.edges, found.window, found.drawn_from, found.pattern)
        expected = _find_expected(found)
        if expected is not None:
            if found.matches != expected:
                message = f"{_where(found)} finds {found.matches} matches in place of {expected}"
                raise FatalError(message)
            known.add(key)
        first = agreed.setdefault(key, found)
        if first.matches != found.matches:
            message = f"{_where(found)} finds {found.matches} matches, {first.way} finds {first.matches}"
            raise FatalError(message)
        if first is not found:
            compared.add(key)
    return (
        f"Matches checked: {len(agreed)} patterns, {len(known)} of them equal to known counts, "
        f"{len(compared)} equal between all ways that were run."
    )


def _find_expected(found: Measurement) -> int | None:
    workload = WORKLOADS.get(found.workload)
    if workload is None or found.edges != workload.recipe.edges or found.drawn_from != found.window:
        return None
    shape = found.pattern.rpartition("_")[0]
    counts = KNOWN.get((found.workload, found.window), {}).get(shape)
    return None if counts is None else counts[ORDERS.index(found.order)]


def _where(found: Measurement) -> str:
    return f"{found.pattern} on stream {found.workload}, window {found.window:,}, by {found.way},"
