"""How fast event patterns are detected, by how many there are: readings of road sensors, and sequences of slow ones.

`python -m graphtide_bench.events.detection [--patterns 1,10,100,1000] [--builder auto] [--days 1] [--seed 7]
[--repeats 5]`

The stream imitates a city's traffic. Each sensor reports a speed once in five minutes, a jam lasts for about half an hour, and
every second one reaches a sensor nearby. A pattern is a sequence of three slow sensors next to each other within 20 minutes. No
two readings have one time, since equal times mean something else for other systems: so these find as many matches.

Each count of patterns has a process of its own. Records lie decoded in memory; a run is a new detector over all of them, and
one run comes before those that count. It reports the events a second of the median run, and the spread from the slowest to the
fastest as a share of it. It reports the matches, the seconds that planning takes, and the memory of plan and detector before
any event.

With `--write FOLDER` nothing is measured. The stream and, for each count, the patterns are written there, for runs of another
system beside this one. The patterns are there as text and as statements of Esper's EPL.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError
from graphtide_core.event_pattern import EventPattern
from graphtide_core.time import TimeUnit
from graphtide_native.event_detection import EventDetector
from graphtide_native.records import CsvDecoder, Symbols
from graphtide_native.spec import columns
from graphtide_query import parse
from graphtide_query.families.events.builders import BUILDERS
from graphtide_query.families.events.units import join_units, units
from graphtide_query.families.planner_options import AUTO

from graphtide_bench.frame.machine import resident_bytes
from graphtide_bench.frame.runs import Spread
from graphtide_bench.frame.script import Script

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.plans.events import AggregationPlan
    from graphtide_native.records import EdgeBatch

SENSORS: Final = 449
STEP: Final = 5 * 60_000
DAY: Final = 24 * 60 * 60_000
BATCH: Final = 4_096
SLOW: Final = 40
PATTERN: Final = """PATTERN p{number}
SEQ(a:{a}, b:{b}, c:{c}) WHERE a.speed < {slow} AND b.speed < {slow} AND c.speed < {slow}
ON traffic WITHIN 20m
"""
STATEMENT: Final = """@name('p{number}')
select a.id, b.id, c.id from pattern [
  every a=Reading(type='{a}', speed < {slow})
  -> (every b=Reading(type='{b}', speed < {slow}) -> every c=Reading(type='{c}', speed < {slow})) where timer:within(20 min)];
"""
"""Every b after each a and every c after each b: as many matches as with skip till any. Time is given from outside."""


def main() -> None:
    """Measure, and show a row for each count of patterns; or write what is measured."""
    script = Script(__file__, __doc__)
    script.option("--patterns", default="1,10,100,1000")
    script.option("--builder", choices=[AUTO, *BUILDERS], default=AUTO)
    script.option("--days", type=int, default=1)
    script.option("--seed", type=int, default=7)
    script.option("--repeats", type=int, default=5)
    script.option("--write", type=Path, metavar="FOLDER")
    script.option("--here", action="store_true", help=argparse.SUPPRESS)
    asked = script.arguments()
    counts = [int(each) for each in asked.patterns.split(",")]
    if asked.write is not None:
        write(asked.write, counts, asked.days, asked.seed)
    elif asked.here:
        stream = "".join(lines(asked.days, asked.seed)).encode()
        script.add(measure(counts[0], asked.builder, asked.seed, stream, asked.repeats))
    else:
        for count in counts:
            own = ["--patterns", str(count), "--builder", asked.builder, "--days", str(asked.days), "--seed", str(asked.seed)]
            for row in script.apart(*own, "--repeats", asked.repeats, "--here"):
                script.add(row)
    script.hand_out()


def lines(days: int, seed: int) -> Iterator[str]:
    """Yield the stream as CSV, line by line, the header first; times in milliseconds."""
    random = Random(seed)  # noqa: S311 - a stream and its patterns, no secret
    slow_until = [0.0] * SENSORS
    yield "ts,type,speed\n"
    for start in range(0, days * DAY, STEP):
        times = sorted(random.sample(range(start, start + STEP), SENSORS))
        for ts, sensor in zip(times, random.sample(range(SENSORS), SENSORS), strict=True):
            if slow_until[sensor] <= ts and random.random() < 0.015:
                slow_until[sensor] = ts + STEP * (1 + random.expovariate(1 / 6))
                if random.random() < 0.5:
                    slow_until[(sensor + random.choice((-2, -1, 1, 2))) % SENSORS] = ts + 6 * STEP
            speed = random.uniform(3, 32) if slow_until[sensor] > ts else max(5, random.gauss(70, 14))
            yield f"{ts},{_sensor(sensor)},{speed:.2f}\n"


def texts(count: int, seed: int, template: str) -> str:
    """Return so many patterns as text; fewer patterns are the first of more."""
    random = Random(seed)  # noqa: S311 - a stream and its patterns, no secret
    reported = []
    for number in range(count):
        center = random.randrange(SENSORS)
        a, b, c = (_sensor((center + step) % SENSORS) for step in random.sample(range(-4, 5), 3))
        reported.append(template.format(number=number, a=a, b=b, c=c, slow=SLOW))
    return "\n".join(reported)


def _sensor(number: int) -> str:
    return f"E{number:03}"


def write(folder: Path, counts: Sequence[int], days: int, seed: int) -> None:
    """Write the stream, and the patterns in both languages."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "events.csv").write_text("".join(lines(days, seed)))
    for count in counts:
        (folder / f"sequences_{count}.gtp").write_text(texts(count, seed, PATTERN))
        (folder / f"sequences_{count}.epl").write_text(texts(count, seed, STATEMENT))


def measure(count: int, builder: str, seed: int, stream: bytes, repeats: int) -> dict[str, object]:
    """Measure so many patterns over a stream, and return what was measured."""
    patterns = [each for each in parse(texts(count, seed, PATTERN)) if isinstance(each, EventPattern)]
    before, begun = resident_bytes(), time.process_time()
    plan = join_units(units(patterns, builder, unit=TimeUnit.MILLISECOND))
    planned_s = time.process_time() - begun
    symbols, read = Symbols(), columns(patterns)
    decoder = CsvDecoder(symbols, read, {})
    run(plan, patterns, symbols, read, [])
    taken = resident_bytes() - before
    whole = decoder.decode(stream).followed_by([decoder.finish()])
    batches = [whole.part(start, min(start + BATCH, len(whole))) for start in range(0, len(whole), BATCH)]
    runs = [run(plan, patterns, symbols, read, batches) for _ in range(repeats + 1)]
    matches = {found for _, found, _ in runs}
    if len(matches) > 1:
        message = f"runs differ: {sorted(matches)} matches"
        raise FatalError(message)
    spread = Spread.of(each for each, *_ in runs[1:])
    return {
        "patterns": count,
        "builder": builder,
        "vertices": len(plan.vertices),
        "planned_s": round(planned_s, 2),
        "events_per_s": round(len(whole) / spread.median),
        "spread": round(spread.share, 2),
        "matches": matches.pop(),
        "most_instances": runs[-1][2],
        "megabytes": round(taken / 1e6, 1),
    }


def run(
    plan: AggregationPlan,
    patterns: Sequence[EventPattern],
    symbols: Symbols,
    columns: Sequence[str],
    batches: Sequence[EdgeBatch],
) -> tuple[float, int, int]:
    """Return the seconds that a new detector takes for all batches, its matches, and the most instances that it stored."""
    detector = EventDetector(plan, patterns, symbols, columns, deletions=False)
    begun = time.perf_counter()
    found = sum(detector.push_raw(batch).matches for batch in batches)
    return time.perf_counter() - begun, found, detector.usage()[1]


if __name__ == "__main__":
    main()
