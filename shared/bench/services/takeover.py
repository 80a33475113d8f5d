"""How long a stream stands still when the process that puts it in order is lost, with another that takes over.

`python shared/bench/services/takeover.py [--kills 10]`

A whole deployment runs on Kafka on this machine with two sequencers that share a stream. An edge is sent every 50 ms. The
process that orders the stream is killed, or asked to end, and comes back 5 seconds later. It reports the longest time without
an ordered record around each end: the median and the greatest of all ends.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from graphtide_bench.frame.script import Script
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import TopicPartition
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_testing.servers.process import free_ports
from graphtide_testing.whole import Whole

if TYPE_CHECKING:
    from graphtide_testing.deployment import Program

STREAM: Final = StreamName("s")
BETWEEN: Final = 0.05
"""Seconds between two edges."""
BACK_SECONDS: Final = 5.0
"""Seconds until a process that ended comes back."""


def main() -> None:
    """Measure, and show a row for each way to end."""
    script = Script(__file__, __doc__)
    script.option("--kills", type=int, default=10)
    asked = script.arguments()
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(Path(folder))
        pair.start()
        for way in ("killed", "ended in order"):
            gaps = [pair.gap(is_killed=way == "killed") for _ in range(asked.kills)]
            script.add(
                {
                    "process": way,
                    "times": asked.kills,
                    "median_seconds": round(statistics.median(gaps), 2),
                    "greatest_seconds": round(max(gaps), 2),
                }
            )
        pair.end()
    script.hand_out()


class Pair:
    """A deployment with two sequencers, a sender, and a reader of ordered records."""

    def __init__(self, folder: Path) -> None:
        """Prepare; nothing runs yet."""
        self.whole = Whole(folder, {"ingestion": {"ROLES": '["http"]'}}, names=("ingestion",))
        self.sequencers: list[Program] = []
        self._stop = threading.Event()
        self._came: list[float] = []

    def start(self) -> None:
        """Start everything; return when edges are put in order."""
        self.whole.start()
        own = {"ROLES": '["sequencer"]', "REPLICATED": "true", "INSECURE": "true", "LATENESS": "0"}
        for number, port in enumerate(free_ports(2)):
            settings = {**own, "PORT": str(port)}
            self.sequencers.append(self.whole.deployment.service("ingestion", settings, instance=f"-sequencer-{number}"))
            self.sequencers[-1].start()
        self._send(0)
        for work in (self._send_all, self._read_all):
            threading.Thread(target=work, daemon=True).start()
        self.whole.wait_until(lambda: bool(self._came), "edges are put in order")
        time.sleep(BACK_SECONDS)

    def gap(self, *, is_killed: bool) -> float:
        """End the process that orders the stream; return the longest time without an ordered record."""
        at_work = next(each for each in self.sequencers if "test.sequencer.s" in _last_opened(each))
        begun = time.monotonic()
        (at_work.kill if is_killed else at_work.stop)()
        self.whole.wait_until(lambda: self._came[-1] > begun + 1.0, "another takes over")
        time.sleep(1.0)
        came = [each for each in self._came if each > begun - 1.0]
        found = max(later - earlier for earlier, later in pairwise(came))
        time.sleep(BACK_SECONDS)
        at_work.start()
        time.sleep(2 * BACK_SECONDS)
        return found

    def end(self) -> None:
        """End everything."""
        self._stop.set()
        self.whole.end()

    def _send_all(self) -> None:
        number = 1
        while not self._stop.wait(BETWEEN):
            self._send(number)
            number += 1

    def _send(self, number: int) -> None:
        edge = {"id": f"e{number}", "ts": time.time_ns() // 1_000_000, "src": "a", "dst": "b", "label": "x"}
        self.whole.send_records(STREAM, [edge])

    def _read_all(self) -> None:
        reader = KafkaLog(KafkaConnection(self.whole.deployment.kafka.bootstrap)).reader(None)
        reader.assign({TopicPartition(self.whole.deployment.topics.ordered(STREAM), 0): 0})
        while not self._stop.is_set():
            if reader.poll(0.1, 1_000):
                self._came.append(time.monotonic())


def _last_opened(program: Program) -> str:
    """Return what a process has printed since it ended or let work go, if it runs."""
    if not program.is_running():
        return ""
    opened = [line for line in program.output.read_text().splitlines() if "test.sequencer.s" in line]
    return opened[-1] if opened and "work.opened" in opened[-1] else ""


if __name__ == "__main__":
    main()
