"""Names the experiments of paper 000, section 5, as cases: a stream, a query, and the engines to compare.

Figures 9 to 20 of the paper have their numbers. Three more show what holds beyond them. `city` is a large grid where nearly no
edge completes a match while many could be part of one. `rush` has roads as dense in matches as the paper's at its largest
window. In `whole` all that is in the window is one match.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.plans import BaselinePlan, ColoringPlan, SignaturePlan
from graphtide_generate import calls, citations, retweets, roads
from graphtide_generate.stream import Recipe

from graphtide_bench.simulation import queries

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphtide_core.edge import Edge
    from graphtide_core.plans import SimulationPlan


@dataclass(frozen=True, slots=True)
class EngineVariant:
    """An engine with all that its speed depends on; one from scratch forgets what it knows before every edge."""

    name: str
    physical: SimulationPlan
    is_from_scratch: bool = False


@dataclass(frozen=True, slots=True)
class ExperimentCase:
    """A query on a stream, with its place on the axis of its experiment."""

    value: str
    at: float
    text: str
    ways: tuple[EngineVariant, ...]


@dataclass(frozen=True, slots=True)
class Experiment:
    """Cases along an axis.

    Attributes:
        name: the number of a figure of the paper, or a word.
        title: what is varied.
        stream: one of `STREAMS`.
        axis: what the values are.
        cases: in the order of the axis.
    """

    name: str
    title: str
    stream: str
    axis: str
    cases: tuple[ExperimentCase, ...]


BASELINE: Final = EngineVariant("baseline", BaselinePlan())
SIGNATURE: Final = EngineVariant("signature", SignaturePlan())
COLORING: Final = EngineVariant("coloring", ColoringPlan())
ALL: Final = (BASELINE, SIGNATURE, COLORING)
RECOMPUTED: Final = (
    EngineVariant("signature, recomputed", SignaturePlan(), is_from_scratch=True),
    EngineVariant("coloring, recomputed", ColoringPlan(), is_from_scratch=True),
)
PRIMES: Final = (31, 97, 199, 499, 997)
_MIDDLE: Final = "j100-100"
_REPORT_SECONDS: Final = 0.48


@dataclass(frozen=True, slots=True)
class Stream:
    """A generated stream: how many records it has by default, and how to make so many."""

    records: int
    make: Callable[[Recipe], tuple[Edge, ...]]


STREAMS: Final[Mapping[str, Stream]] = {
    "roads": Stream(50_000, lambda recipe: roads.generate(roads.RoadOptions(recipe)).edges),
    "rush": Stream(50_000, lambda recipe: roads.generate(roads.RoadOptions(recipe, downtown=2, rush=0.87)).edges),
    "city": Stream(
        220_000,
        lambda recipe: (
            roads.generate(
                roads.RoadOptions(recipe, rows=200, columns=200, watched=1.0, downtown=0, jams=0.25, spreads=0.0, lasts=1_000)
            ).edges
        ),
    ),
    "whole": Stream(
        60_000,
        lambda recipe: roads.generate(roads.RoadOptions(recipe, rows=30, columns=30, downtown=30, rush=1.0, lasts=10**9)).edges,
    ),
    "calls": Stream(52_050, lambda recipe: calls.generate(calls.CallOptions(recipe)).edges),
    "citations": Stream(80_000, lambda recipe: citations.generate(citations.CitationOptions(recipe)).edges),
    "retweets": Stream(60_000, lambda recipe: retweets.generate(retweets.RetweetOptions(recipe)).edges),
}
"""By name; `rush` and `city` are roads whose downtown is smaller and fuller, or that are everywhere alike."""


def edges_of(stream: str, records: int | None) -> tuple[Edge, ...]:
    """Return the edges of a stream, of its own length if none is given."""
    chosen = STREAMS[stream]
    return chosen.make(Recipe.of_nature(1, records or chosen.records))


def _over(values: Mapping[str, str], ways: tuple[EngineVariant, ...] = ALL) -> tuple[ExperimentCase, ...]:
    """Return a case for each value that begins with a number, with its text."""
    return tuple(ExperimentCase(value, float(value.split()[0].replace(",", "")), text, ways) for value, text in values.items())


def _with_primes(text: str) -> tuple[ExperimentCase, ...]:
    return tuple(
        ExperimentCase(str(prime), float(prime), text, (BASELINE, EngineVariant("signature", SignaturePlan(prime)), COLORING))
        for prime in PRIMES
    )


_ROAD_MINUTES = (2, 5, 10, 20, 60, 120)

EXPERIMENTS: Final = (
    Experiment("9", "Window, Road", "roads", "minutes", _over({f"{w}": queries.road(5, f"{w}m") for w in _ROAD_MINUTES})),
    Experiment(
        "10", "Window, Phone", "calls", "hours", _over({f"{w}": queries.community(4, f"{w}h") for w in (24, 48, 72, 96, 120)})
    ),
    Experiment(
        "11", "Window, Patent", "citations", "days", _over({f"{w}": queries.tree(2, f"{w}d") for w in (90, 180, 360, 720)})
    ),
    Experiment(
        "12",
        "Window, Twitter, and without following it",
        "retweets",
        "hours",
        _over({f"{w}": queries.influence(5, 4, f"{w}h") for w in (12, 24, 48, 72)}, (*ALL, *RECOMPUTED)),
    ),
    Experiment(
        "13", "Degree, Phone", "calls", "degree", _over({f"{d}": queries.urgent(d, "48h") for d in (8, 10, 12, 14, 16)})
    ),
    Experiment(
        "14", "Degree, Patent", "citations", "degree", _over({f"{d}": queries.star(d, "180d") for d in (3, 5, 7, 9, 11)})
    ),
    Experiment(
        "15",
        "Edges, Twitter: filter and verification",
        "retweets",
        "edges",
        _over(
            {
                f"{first + first * second}": queries.influence(first, second, "48h")
                for first, second in ((3, 2), (4, 3), (5, 4), (6, 4), (8, 4))
            }
        ),
    ),
    Experiment("16", "Edges, Road", "roads", "edges", _over({f"{e}": queries.road(e, "10m") for e in (3, 5, 7, 9, 11)})),
    Experiment(
        "17", "Edges, Phone", "calls", "edges", _over({f"{e}": queries.community(e, "48h") for e in (4, 8, 12, 16, 20)})
    ),
    Experiment(
        "18", "Edges, Patent", "citations", "edges", _over({f"{f + f * f}": queries.tree(f, "180d") for f in (1, 2, 3, 4, 5)})
    ),
    Experiment("19", "Modulus of the signature, Road", "roads", "p", _with_primes(queries.road(5, "10m"))),
    Experiment("20", "Modulus of the signature, Phone", "calls", "p", _with_primes(queries.community(8, "48h"))),
    Experiment(
        "rush",
        "Window, roads in the rush hour",
        "rush",
        "minutes",
        _over({f"{w}": queries.road(5, f"{w}m") for w in _ROAD_MINUTES}),
    ),
    Experiment(
        "city",
        "Window, a large city",
        "city",
        "reports",
        _over(
            {
                f"{reports:,}": queries.spread(f"{int(reports * _REPORT_SECONDS)}s", _MIDDLE)
                for reports in (1_000, 10_000, 50_000, 100_000)
            }
        ),
    ),
    Experiment(
        "whole",
        "Window, all of it one match",
        "whole",
        "reports",
        _over(
            {f"{reports:,}": queries.road(5, f"{int(reports * _REPORT_SECONDS)}s", "MAXIMAL") for reports in (1_000, 10_000)}
        ),
    ),
)
"""All of them."""

BY_NAME: Final = {each.name: each for each in EXPERIMENTS}
