"""What the builders of aggregation plans cost, and what their plans cost detection: Table 1 and Figures 10 and 11 of paper 002.

`python -m graphtide_bench.events.plans [--workload traffic_mode_100.json] [--sequences 1000] [--repeats 3] [--days 1]`
plans a workload by each builder, and detects its patterns in a day of readings of road sensors. Workloads are those that the
paper's authors published, or sequences of three neighbours that are drawn from a seed. An event of the paper is an abnormal
reading, so each event of a pattern has its condition. Readings come every five minutes; `--noise` of them are abnormal in each
of four ways, and each hour those of one pattern are. Every builder's plan has to give the same number of matches.

Times are of the processor: construction from patterns to the plan, processing without decoding. Instances are what detection
stores; a vertex without a successor stores none.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.event_expression import And, QueryEvent, Seq
from graphtide_core.event_pattern import EventPattern
from graphtide_core.ids import PatternName, StreamName
from graphtide_core.predicate import Attribute, Compare, Comparison, Literal
from graphtide_core.statistics import EdgeType, StatisticsSnapshot, TimeRange
from graphtide_core.time import Duration, EventTime, TimeUnit
from graphtide_native.event_detection import EventDetector
from graphtide_native.records import CsvDecoder, Symbols
from graphtide_query.families.events.builders import BUILDERS, aggregate

from graphtide_bench.frame.runs import Spread
from graphtide_bench.frame.script import Row, Script

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from graphtide_core.plans.events import AggregationPlan
    from graphtide_core.predicate import Expression

ATTRIBUTES: Final = ("vehicles", "speed")
STEP: Final = 300
"""Seconds between two readings of a sensor."""
NORMAL: Final = (20, 70.0)
ABNORMAL: Final = ((2, 70.0), (60, 70.0), (20, 9.0), (20, 140.0))
"""Vehicles and speed of readings of each condition."""
BATCH: Final = 4_096


class Reading(NamedTuple):
    """An event of the stream."""

    ts: int
    type: str
    vehicles: int
    speed: float


@dataclass(frozen=True, slots=True)
class Asked:
    """A pattern, the condition that all its events have, and their types, in an order that matches."""

    pattern: EventPattern
    condition: int
    types: tuple[str, ...]


def condition_of(name: str, condition: int) -> Expression:
    """Return what makes a reading abnormal."""
    attribute, comparison, value = (
        ("vehicles", Comparison.LESS, 5),
        ("vehicles", Comparison.GREATER, 40),
        ("speed", Comparison.LESS, 20),
        ("speed", Comparison.GREATER, 120),
    )[condition]
    return Compare(comparison, Attribute(name, attribute), Literal(value))


def publish(path: Path) -> list[Asked]:
    """Return the patterns of a published workload of traffic: AND of all their locations, some of them in SEQ."""
    found = []
    for name, record in json.loads(path.read_text(encoding="utf-8")).items():
        apart = [str(each) for each in record["property"]]
        types = tuple(apart + [str(each) for each in record["id"] if str(each) not in apart])
        events = tuple(QueryEvent(f"e{number}", kind) for number, kind in enumerate(types))
        first, rest = events[: len(apart)], events[len(apart) :]
        root = And(((Seq(first),) if record["logic"]["seq"] and len(first) > 1 else first) + rest)
        found.append(ask(name, root, types, int(record["condition"]), record["interval"] * 60))
    return found


def sequences(count: int, random: Random) -> list[Asked]:
    """Return sequences of three slow sensors among nine neighbours, of 449, within 20 minutes."""
    found = []
    for number in range(count):
        centre = random.randrange(449)
        types = tuple(f"E{(centre + step) % 449:03}" for step in random.sample(range(-4, 5), 3))
        root = Seq(tuple(QueryEvent(f"e{place}", kind) for place, kind in enumerate(types)))
        found.append(ask(f"p{number}", root, types, 2, 1_200))
    return found


def ask(name: str, root: Seq | And, types: tuple[str, ...], condition: int, seconds: int) -> Asked:
    """Return a pattern of abnormal readings."""
    predicates = tuple(condition_of(f"e{number}", condition) for number in range(len(types)))
    pattern = EventPattern(PatternName(name), root, Duration(seconds, "s"), StreamName("traffic"), predicates)
    return Asked(pattern, condition, types)


def readings(workload: Sequence[Asked], days: float, noise: float, random: Random) -> list[Reading]:
    """Return readings of all sensors of a workload; each hour those of one pattern begin to be abnormal in turn."""
    sensors = sorted({kind for each in workload for kind in each.types})
    steps = int(days * 86_400 / STEP)
    planted: dict[tuple[int, str], int] = {}
    for step in range(0, steps, 3_600 // STEP):
        own = random.choice(workload)
        last = int(own.pattern.within.ticks(TimeUnit.SECOND)) // STEP - 1
        for place, kind in enumerate(own.types):
            planted[step + place * last // len(own.types), kind] = own.condition
    found = []
    for step in range(steps):
        for kind in sensors:
            draw = int(random.random() / noise) if noise else len(ABNORMAL)
            condition = planted.get((step, kind), draw)
            vehicles, speed = ABNORMAL[condition] if condition < len(ABNORMAL) else NORMAL
            found.append(Reading(step * STEP + random.randrange(STEP), kind, vehicles, speed))
    return sorted(found)


def make_statistics(stream: Sequence[Reading], days: float) -> StatisticsSnapshot:
    """Return what is known of a stream: how often events of each type come."""
    types: dict[EdgeType, int] = {}
    for reading in stream:
        kind = EdgeType(None, reading.type, None)
        types[kind] = types.get(kind, 0) + 1
    window = TimeRange(EventTime(0), EventTime(int(days * 86_400)))
    return StatisticsSnapshot(window=window, edges=len(stream), types=types)


class Detected(NamedTuple):
    """What a run found."""

    seconds: float
    matches: int
    peak: int


def detect(plan: AggregationPlan, patterns: Sequence[EventPattern], stream: Sequence[Reading]) -> Detected:
    """Detect the patterns in the stream."""
    symbols = Symbols()
    detector = EventDetector(plan, patterns, symbols, ATTRIBUTES, unit=TimeUnit.SECOND, deletions=False)
    decoder = CsvDecoder(symbols, ATTRIBUTES, {})
    decoder.decode(b"ts,type,vehicles,speed\n")
    batches = [
        decoder.decode("".join(f"{','.join(map(str, each))}\n" for each in stream[start : start + BATCH]).encode())
        for start in range(0, len(stream), BATCH)
    ]
    begun = time.process_time()
    matches = sum(len(detector.push_raw(batch)) for batch in batches)
    seconds = time.process_time() - begun
    return Detected(seconds, matches, detector.usage()[1])


def time_build(build: Callable[[], AggregationPlan], repeats: int) -> tuple[AggregationPlan, list[float]]:
    """Return a plan, and the seconds of each time it was built."""
    found = []
    for _ in range(repeats):
        begun = time.process_time()
        plan = build()
        found.append(time.process_time() - begun)
    return plan, found


def measure(name: str, workload: Sequence[Asked], arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each builder."""
    patterns = [each.pattern for each in workload]
    stream = readings(workload, arguments.days, arguments.noise, Random(arguments.seed))  # noqa: S311 - readings, not secrets
    statistics = make_statistics(stream, arguments.days)
    matches = None
    for builder in arguments.builders.split(","):
        build = partial(aggregate, patterns, builder, unit=TimeUnit.SECOND, statistics=statistics)
        plan, construction = time_build(build, arguments.repeats)
        shared = sum(len(parent.slots) for vertex in plan.vertices for parent in vertex.parents)
        runs = [detect(plan, patterns, stream) for _ in range(arguments.repeats)]
        yield {
            "workload": name,
            "builder": builder,
            "patterns": len(patterns),
            "events": len(stream),
            "construction, s": Spread.of(construction).rounded(),
            "vertices": len(plan.vertices),
            "slots from parents": shared,
            "processing, s": Spread.of(run.seconds for run in runs).rounded(),
            "peak instances": runs[0].peak,
            "matches": runs[0].matches,
        }
        if matches not in (None, runs[0].matches):
            message = f"{builder} finds {runs[0].matches} matches, others {matches}"
            raise SystemExit(message)
        matches = runs[0].matches


def main() -> None:
    """Read the command line, and measure."""
    script = Script(__file__, __doc__)
    script.option("--workload", type=Path, action="append", default=[], help="a published workload of traffic")
    script.option("--sequences", type=int, action="append", default=[], help="how many sequences to draw")
    script.option("--builders", default=",".join(BUILDERS))
    script.option("--days", type=float, default=1.0)
    script.option("--noise", type=float, default=0.01, help="share of readings that are abnormal in each way")
    script.option("--repeats", type=int, default=3)
    script.option("--seed", type=int, default=7)
    arguments = script.arguments()
    for path in arguments.workload:
        for row in measure(path.name, publish(path), arguments):
            script.add(row)
    for count in arguments.sequences or ([] if arguments.workload else [1_000]):
        for row in measure("sequences", sequences(count, Random(arguments.seed)), arguments):  # noqa: S311 - as above
            script.add(row)
    script.hand_out()


if __name__ == "__main__":
    main()
