"""What features and EMIT cost: processor time that they add to a record, by function and window.

    python shared/bench/services/features.py [--records 500000] [--repeats 3]

Records are decoded beforehand: edges from hosts whose popularity follows a power law to 20,000 others, one a tick.
"""

from __future__ import annotations

import time
from random import Random
from typing import TYPE_CHECKING, Final

from graphtide_bench.frame.runs import Spread
from graphtide_bench.frame.script import Script
from graphtide_core.time import TimeUnit
from graphtide_native.features import StreamFeatures
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_query import parse_streams

if TYPE_CHECKING:
    from graphtide_native.records import EdgeBatch

CASES: Final = {
    "count(*), 10,000 records": "FEATURE a = count(*) PER src OVER 10s",
    "sum, 10,000 records": "FEATURE a = sum(bytes) PER src OVER 10s",
    "sum, 100,000 records": "FEATURE a = sum(bytes) PER src OVER 100s",
    "max, 10,000 records": "FEATURE a = max(bytes) PER src OVER 10s",
    "count(DISTINCT dst), 10,000 records": "FEATURE a = count(DISTINCT dst) PER src OVER 10s",
    "three with one key, 100,000 records": (
        "FEATURE a = sum(bytes) PER src OVER 10s FEATURE b = count(*) PER src OVER 10s AGAINST 100s "
        "FEATURE c = max(bytes) PER src OVER 10s"
    ),
    "EMIT EDGE, count(*) and sum, 10,000 records": (
        "EMIT EDGE (src)-[:burst]->(dst) EVERY 10s SET n = count(*), total = sum(bytes)"
    ),
    "the same, HAVING n > 100": (
        "EMIT EDGE (src)-[:burst]->(dst) EVERY 10s SET n = count(*), total = sum(bytes) HAVING n > 100"
    ),
    "EMIT EVENT, count(DISTINCT dst), 10,000 records": (
        "EMIT EVENT 'scan' PER src AS host EVERY 10s SET hosts = count(DISTINCT dst)"
    ),
}
BATCH: Final = 8_192


def main() -> None:
    """Measure, and show a row for each case."""
    script = Script(__file__, __doc__)
    script.option("--records", type=int, default=500_000)
    script.option("--repeats", type=int, default=3)
    asked = script.arguments()
    lines = _draw(asked.records)
    for case, text in CASES.items():
        spread = Spread.of(_nanoseconds(text, lines) for _ in range(asked.repeats))
        script.add({"features": case, "nanoseconds a record": spread.rounded(0)})
    script.hand_out()


def _draw(records: int) -> list[bytes]:
    drawn = Random(1)
    return [
        b'{"ts":%d,"src":"h%d","dst":"d%d","label":"tcp","bytes":%d}\n'
        % (ts, int(drawn.paretovariate(1)) % 5_000, drawn.randrange(20_000), drawn.randrange(1_500))
        for ts in range(records)
    ]


def _nanoseconds(text: str, lines: list[bytes]) -> float:
    (stream,) = parse_streams(f"STREAM s {text}")
    features = StreamFeatures(stream.windows, TimeUnit.MILLISECOND)
    decoder = JsonLinesDecoder(Symbols(), (*features.inputs, *features.names), {}, keep_raw=False)
    batches: list[EdgeBatch] = [decoder.decode(b"".join(lines[at : at + BATCH])) for at in range(0, len(lines), BATCH)]
    begun = time.process_time()
    for batch in batches:
        features.add_to(batch)
    return (time.process_time() - begun) / len(lines) * 1e9


if __name__ == "__main__":
    main()
