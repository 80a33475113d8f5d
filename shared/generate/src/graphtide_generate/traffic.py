"""Generates a day of road-sensor readings with planted congestion waves.

Junctions form a grid; a reading is an edge along the road from one junction to the next, with the mean speed in km/h. A wave
travels against the traffic: the road c -> d is jammed (r3), then b -> c (r2), then a -> b (r1), within fifteen minutes.

Only planted instances match, by construction:

1. In the background only some roads are ever slower than 20 km/h. They lead east in rows with an even number from columns
   divisible by three. So the end of such a road is never the start of another.
2. Instances and decoys lie on roads of rows with an odd number, each on its own stretch of four junctions. A junction that
   neither touches lies between two stretches. Slow roads that follow each other are of one instance, which reads each of them
   once.

Cost: O(n log n) for n readings.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_generate.schedule import DAY, MIDNIGHT, MINUTE, background_times, instance_times, too_slow
from graphtide_generate.stream import Draft, Drafts, Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_generate.stream import GeneratedStream

WINDOW = 15 * MINUTE
JAMMED = 20.0
"""Speed in km/h below which a road counts as jammed."""

PATTERN = """\
PATTERN congestion_wave
MATCH (a:junction)-[r1:reading]->(b:junction), (b)-[r2:reading]->(c:junction), (c)-[r3:reading]->(d:junction)
WHERE r1.speed < 20 AND r2.speed < 20 AND r3.speed < 20
ORDER r3 < r2 < r1
ON traffic WINDOW 15m
"""

FLAWS = ("travels downstream", "too slow", "not jammed", "opposite lane", "tie")
_STRETCH = 5

Junction = tuple[int, int]
"""Row and column in the grid."""


@dataclass(frozen=True, slots=True)
class TrafficOptions:
    """How many readings, on how large a grid, when. Times in milliseconds; `recipe.records` counts background readings."""

    recipe: Recipe = field(default_factory=Recipe)
    rows: int = 20
    columns: int = 20
    start: int = MIDNIGHT
    duration: int = DAY

    def __post_init__(self) -> None:
        """Refuse what leaves no room.

        Raises:
            ValueError: too small a grid, or a stream no longer than the wave.
        """
        if self.recipe.swap_labels:
            message = "traffic has one label: there is nothing to swap"
            raise ValueError(message)
        hidden = self.recipe.planted + self.recipe.decoys
        room = (self.rows // 2) * (self.columns // _STRETCH)
        if min(self.rows, self.columns) < 2 or room < hidden:
            message = f"a grid of {self.rows} x {self.columns} has room for {room} instances and decoys, not for {hidden}"
            raise ValueError(message)
        if self.duration <= 2 * WINDOW:
            message = f"the stream must last longer than {2 * WINDOW} ms"
            raise ValueError(message)


def generate(options: TrafficOptions) -> GeneratedStream:
    """Return the readings of `options`, with ids r000000, r000001, … in the order of time."""
    rng = random.Random(options.recipe.seed)  # noqa: S311 - test data, no secrets
    drafts = Drafts("congestion_wave")
    hidden = options.recipe.planted + options.recipe.decoys
    across = options.columns // _STRETCH
    places = [(row, _STRETCH * slot) for row in range(1, options.rows, 2) for slot in range(across)]
    for number, place in enumerate(rng.sample(places, hidden)):
        flaw = None if number < options.recipe.planted else FLAWS[(number - options.recipe.planted) % len(FLAWS)]
        road = [(place[0], place[1] + step) for step in range(4)]
        edges = _wave(rng, options, road, flaw)
        if flaw is None:
            drafts.plant(edges, {name: _name(junction) for name, junction in zip("abcd", road, strict=True)})
        else:
            drafts.decoy(edges, flaw)
    drafts.add(_background(rng, options))
    return drafts.finish("r", PATTERN)


def _wave(rng: random.Random, options: TrafficOptions, road: list[Junction], flaw: str | None) -> dict[str, Draft]:
    """Return the three readings of one wave, or of a near miss with that flaw."""
    a, b, c, d = road
    times = instance_times(rng, 3, options.start, options.duration - MINUTE, WINDOW)
    speeds = [_draw_jam_speed(rng) for _ in range(3)]
    middle = (b, c)
    match flaw:
        case "travels downstream":
            times.reverse()
        case "too slow":
            times = too_slow(rng, times, WINDOW)
        case "not jammed":
            speeds[rng.randrange(3)] = JAMMED + rng.choice((0.0, 0.1, 5.0))
        case "opposite lane":
            middle = (c, b)
        case "tie":
            at = rng.randrange(2)
            times[at + 1] = times[at]
        case _:
            pass
    return {
        "r1": _reading(rng, times[2], a, b, speeds[0]),
        "r2": _reading(rng, times[1], *middle, speeds[1]),
        "r3": _reading(rng, times[0], c, d, speeds[2]),
    }


def _background(rng: random.Random, options: TrafficOptions) -> Iterator[Draft]:
    count = options.recipe.records
    roads = list(_roads(options.rows, options.columns))
    chosen = rng.choices(roads, k=count)
    for ts, (start, end) in zip(background_times(rng, count, options.start, options.duration), chosen, strict=True):
        leads_east = end == (start[0], start[1] + 1)
        may_jam = leads_east and start[0] % 2 == 0 and start[1] % 3 == 0
        speed = _draw_jam_speed(rng) if may_jam and rng.random() < 0.4 else round(JAMMED + 80 * rng.random(), 1)
        yield _reading(rng, ts, start, end, speed)


def _roads(rows: int, columns: int) -> Iterator[tuple[Junction, Junction]]:
    """Yield every road of the grid: both lanes between neighbours."""
    for row in range(rows):
        for column in range(columns):
            for neighbour in ((row, column + 1), (row + 1, column)):
                if neighbour[0] < rows and neighbour[1] < columns:
                    yield (row, column), neighbour
                    yield neighbour, (row, column)


def _draw_jam_speed(rng: random.Random) -> float:
    """Return a speed of 2.0 to 19.9 km/h."""
    return rng.randrange(20, 200) / 10


def _reading(rng: random.Random, ts: int, start: Junction, end: Junction, speed: float) -> Draft:
    vehicles = int(rng.random() * 40 * (1.2 - min(speed, 100.0) / 100)) + 1
    attributes = {"speed": speed, "vehicles": vehicles, "occupancy": round(vehicles / (speed + 20), 3)}
    return Draft(ts, _name(start), _name(end), "reading", "junction", "junction", attributes)


def _name(junction: Junction) -> str:
    return f"j{junction[0]}-{junction[1]}"
