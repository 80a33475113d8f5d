"""How long `REPORT EXISTS` takes to count: iterations, events of one type, and conditions between neighbours.

`python -m graphtide_bench.events.counting [--repeats 3]` reports a row for each workload. It has the processor time of the
fastest run over all records, which are decoded beforehand, and the digits of the last count.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from graphtide_core.event_pattern import EventPattern
from graphtide_native.event_detection import EventDetector
from graphtide_native.records import CsvDecoder, Symbols
from graphtide_query import parse
from graphtide_query.families.events.builders import aggregate

from graphtide_bench.frame.script import Script

if TYPE_CHECKING:
    from collections.abc import Iterator

LIST: Final = "SEQ(a:A+, b:B)"
CHAIN: Final = "SEQ(a:A, b:A, c:A)"
RISING: Final = f"{CHAIN} WHERE a.n < b.n AND b.n < c.n"
WORKLOADS: Final = ((LIST, 24), (LIST, 200), (LIST, 10_000), (CHAIN, 1_000), (RISING, 1_000))


def main() -> None:
    """Measure, and show a row for each workload."""
    script = Script(__file__, __doc__)
    script.option("--repeats", type=int, default=3)
    repeats = script.arguments().repeats
    for text, events in WORKLOADS:
        seconds, digits = min(measure(text, events) for _ in range(repeats))
        script.add({"pattern": text, "events": events, "milliseconds": round(1_000 * seconds, 1), "digits": digits})
    script.hand_out()


def lines(text: str, events: int) -> Iterator[str]:
    """Yield so many A with ascending values as CSV, and a B where the pattern ends with one."""
    yield "ts,type,n\n"
    yield from (f"{number},A,{number}\n" for number in range(events))
    if text == LIST:
        yield f"{events},B,0\n"


def measure(text: str, events: int) -> tuple[float, int]:
    """Return the seconds that one run takes, and how many digits its last count has."""
    patterns = [each for each in parse(f"PATTERN p {text} REPORT EXISTS ON s WITHIN 1d") if isinstance(each, EventPattern)]
    symbols = Symbols()
    decoder = CsvDecoder(symbols, ["n"], {})
    batch = decoder.decode("".join(lines(text, events)).encode()).followed_by([decoder.finish()])
    detector = EventDetector(aggregate(patterns, "none"), patterns, symbols, ["n"])
    begun = time.process_time()
    found = detector.push(batch)
    return time.process_time() - begun, len(str(found[-1].count))


if __name__ == "__main__":
    main()
