"""Generates reports of the traffic on a city's roads, among which congestion spreads against the traffic.

Junctions form a grid of long streets. All roads downtown are watched, and a share of the others. Every third street and avenue
is a main one, and where two of them cross is a major junction. Watched roads report in turn: `good`, `average` or `bad`. A road
jams by chance, much sooner downtown, or some minutes after the road that it leads into has jammed, and clears again.

Shape: as the Road data of paper 000, Figures 6 and 7. There are 605 junctions, and two reports a second, each road about every
five minutes. There are some 46 components of Fig. 1 in 10,000 reports where the window is 5 minutes. Cost: O(n log n) for n
reports.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_generate.schedule import MIDNIGHT, MINUTE
from graphtide_generate.stream import Draft, Drafts, Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_generate.stream import GeneratedStream

PATTERN = """\
PATTERN spreading_congestion
MATCH (a)-[ab:bad]->(b), (c)-[ca:bad]->(a), (d)-[dc:bad]->(c), (e)-[ea:bad]->(a), (f)-[fe:bad]->(e)
ORDER ab < ca < dc, ab < ea < fe
UNDER DUAL SIMULATION REPORT INSTANCES
ON roads WINDOW 10m
"""

Junction = tuple[int, int]
"""Row and column in the grid."""

_DELAY = 5 * MINUTE
"""Until which a jam has spread."""
_STREETS = 3
"""Every so manieth street is a main one."""


@dataclass(frozen=True, slots=True)
class RoadOptions:
    """How many reports, on how large a grid, of how many roads, and how congestion comes and goes.

    Attributes:
        recipe: its `records` are the reports.
        rows: of junctions.
        columns: of junctions.
        watched: share of the roads that report, outside downtown.
        start: of the stream, in milliseconds.
        gap: milliseconds between two reports.
        downtown: junctions from the middle of the grid, each way, whose roads all report.
        rush: share of the reports from downtown that jam a free road by chance.
        jams: the same elsewhere.
        spreads: how likely a jammed road jams each road that leads into it, at each of its reports.
        lasts: milliseconds that a jam lasts on average.
    """

    recipe: Recipe = field(default_factory=lambda: Recipe.of_nature(1, 10_000))
    rows: int = 11
    columns: int = 55
    watched: float = 0.2
    start: int = MIDNIGHT
    gap: int = 480
    downtown: int = 3
    rush: float = 0.24
    jams: float = 0.01
    spreads: float = 0.05
    lasts: int = MINUTE

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: too small a grid, a share that is none, or plants.
        """
        self.recipe.refuse_plants("roads")
        if min(self.rows, self.columns) < 2:
            message = f"a grid of {self.rows} x {self.columns} has no roads both ways"
            raise ValueError(message)
        if not (0 < self.watched <= 1 and all(0 <= share <= 1 for share in (self.rush, self.jams, self.spreads))):
            message = "shares of roads and reports lie from 0 to 1, and some road must report"
            raise ValueError(message)


def generate(options: RoadOptions) -> GeneratedStream:
    """Return the reports of `options`, with ids r000000, r000001, … in the order of time."""
    drafts = Drafts("spreading_congestion")
    drafts.add(_reports(random.Random(options.recipe.seed), options))  # noqa: S311 - test data, no secrets
    return drafts.finish("r", PATTERN)


def _reports(rng: random.Random, options: RoadOptions) -> Iterator[Draft]:
    roads = _list_watched(rng, options)
    leading_to: dict[Junction, list[tuple[Junction, Junction]]] = {}
    for road in roads:
        leading_to.setdefault(road[1], []).append(road)
    jammed = dict.fromkeys(roads, (0, 0))
    for number in range(options.recipe.records):
        road = roads[number % len(roads)]
        ts = options.start + int((number + rng.random()) * options.gap)
        since, until = jammed[road]
        jams = options.rush if _is_downtown(road, options) else options.jams
        if not since <= ts < until and rng.random() < jams:
            since, until = jammed[road] = (ts, ts + _lasting(rng, options))
        is_jammed = since <= ts < until
        if is_jammed:
            for other in leading_to.get(road[0], ()):
                if other[0] != road[1] and jammed[other][1] <= ts and rng.random() < options.spreads:
                    begins = ts + int(rng.random() * _DELAY)
                    jammed[other] = (begins, begins + _lasting(rng, options))
        state = "bad" if is_jammed else "average" if rng.random() < 0.3 else "good"
        yield _report(rng, ts, road, state)


def _list_watched(rng: random.Random, options: RoadOptions) -> list[tuple[Junction, Junction]]:
    """Return the roads that report, in the order of their reports."""
    roads = []
    for row in range(options.rows):
        for column in range(options.columns):
            for neighbour in ((row, column + 1), (row + 1, column)):
                if neighbour[0] < options.rows and neighbour[1] < options.columns:
                    roads += [((row, column), neighbour), (neighbour, (row, column))]
    watched = [road for road in roads if _is_downtown(road, options) or rng.random() < options.watched]
    return rng.sample(watched, len(watched))


def _is_downtown(road: tuple[Junction, Junction], options: RoadOptions) -> bool:
    middle = (options.rows // 2, options.columns // 2)
    return all(abs(street - at) <= options.downtown for junction in road for street, at in zip(junction, middle, strict=True))


def _lasting(rng: random.Random, options: RoadOptions) -> int:
    return int(rng.expovariate(1 / options.lasts))


def _report(rng: random.Random, ts: int, road: tuple[Junction, Junction], state: str) -> Draft:
    lowest, highest = {"good": (45, 70), "average": (20, 45), "bad": (2, 20)}[state]
    source, target = (f"j{row}-{column}" for row, column in road)
    source_kind, target_kind = map(_kind, road)
    return Draft(ts, source, target, state, source_kind, target_kind, {"speed": rng.randrange(lowest, highest)})


def _kind(junction: Junction) -> str:
    return "major" if all(street % _STREETS == 0 for street in junction) else "secondary"
