"""How soon a search without end is over after a signal.

`python shared/bench/services/interrupts.py [--times 20]`

A star of eight whose condition never holds is matched around a vertex of 3,000 edges.
That is done under every engine, and under `timing` with two threads as well. A signal comes after a while that a seed decides;
the time from it to the end of `push` is measured.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import deque

from graphtide_bench.frame.runs import Spread
from graphtide_bench.frame.script import Script
from graphtide_core.time import TimeUnit
from graphtide_native.matcher import Matcher
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.spec import Concurrency
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan
from graphtide_testing.adversary import edges, star
from graphtide_testing.records import to_json_lines

RECORDS = 9_000
"""A third of them leave one vertex."""


def main() -> None:
    """Measure, and show a row for each engine."""
    script = Script(__file__, __doc__)
    script.option("--times", type=int, default=20)
    asked = script.arguments()
    for engine, threads in [*((engine, 1) for engine in FAMILIES["isomorphism"].names), ("timing", 2)]:
        took = [1_000 * _measure(engine, threads, random.Random(seed)) for seed in range(asked.times)]
        script.add({"engine": engine, "threads": threads, "times": asked.times, "ms": Spread.of(took).rounded(1)})
    script.hand_out()


def _measure(engine: str, threads: int, chance: random.Random) -> float:
    """Return the seconds from a signal to the end of a search."""
    (pattern,) = parse_subgraphs(star("adversary", "10m"))
    symbols = Symbols()
    made = plan(pattern, engine, unit=TimeUnit.MILLISECOND)
    matcher = Matcher([made], symbols, concurrency=Concurrency(threads))
    batch = JsonLinesDecoder(symbols, [], {}).decode(to_json_lines(tuple(edges(0, RECORDS))))
    signalled = [0.0]

    def interrupt() -> None:
        signalled[0] = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(chance.uniform(0.1, 2.0), interrupt)
    timer.start()
    try:
        deque(matcher.push(batch), 0)
    except KeyboardInterrupt:
        return time.perf_counter() - signalled[0]
    message = "the search ended by itself"
    raise RuntimeError(message)


if __name__ == "__main__":
    main()
