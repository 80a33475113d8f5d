"""Threads that share a table of symbols do not wait for each other without end, also where Python lets another one go on."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

PROGRAM: Final = """
import gc, sys, threading, time
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.statistics import StreamStatistics

symbols = Symbols()
text = b"".join(b'{"ts": %d, "src": "a", "dst": "b", "label": "x"}\\n' % ts for ts in range(300))
batch = JsonLinesDecoder(symbols, [], {}).decode(text)
counter = StreamStatistics(symbols, 5, tumbling=True)
# Python looks for garbage at each new object, and lets the other threads go on meanwhile.
gc.callbacks.append(lambda phase, info: time.sleep(0.0002))
gc.set_threshold(2)
acts = {
    "records": batch.to_records,
    "labels": lambda: batch.labels_among(["x"], ["y"]),
    "narrowed": lambda: batch.narrowed(["x"], []),
    "arrow": batch.to_arrow,
    "packed": batch.pack,
    "learned": lambda: symbols.learn("z"),
    "counted": lambda: len(symbols),
    "decoded": lambda: JsonLinesDecoder(symbols, [], {}).decode(text),
    "statistics": lambda: counter.snapshot(),
    "merged": lambda: type(batch).merged([(batch, 0, None, "s"), (batch, 0, None, "t")]),
}

def repeat(act):
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        act()

threads = [threading.Thread(target=repeat, args=(acts[name],), daemon=True) for name in sys.argv[1:]]
[each.start() for each in threads]
[each.join() for each in threads]
print("ended")
"""

OTHERS: Final = ("labels", "narrowed", "arrow", "packed", "learned", "counted", "decoded", "statistics", "merged", "records")


@pytest.mark.parametrize("other", OTHERS)
def test_none_waits_without_end(other: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "records", other, "statistics"],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout, done.stderr) == ("ended\n", "")
