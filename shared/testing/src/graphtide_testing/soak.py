"""A soak: a whole deployment under a steady load and a random mix of faults, watched for its matches and its memory.

`python -m graphtide_testing.soak [--minutes 60] [--seed 1] [--rate 100]`

Two services take edges and another puts them in order, two serve the admin API, and there are two shards of each matcher.
Twenty patterns run the whole time, and every edge but the first of each completes one match of one of them
(`graphtide_testing.steady_load`). Meanwhile `graphtide_testing.faults` does what can be done to all of them. The seed decides
their order, not their times. Every minute a line says what was matched, and what processes take.

In the end the deployment settles. Every expected match came once, and no process ended unless it was killed. Resident memory
grows by less than `MOST_GROWTH` in ten minutes, in the life of every process that is long enough to be measured
(`graphtide_testing.resident_memory`). Its first ten minutes are left out, and fifteen must follow. So that every service has
such a life, one process of each is a *witness*. It is not killed after the first eighth of the time, though twins shut it out,
and Kafka and Redis still die under it. Exits with 1 if any of this does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event
from typing import TYPE_CHECKING, Any, Final

import httpx2
from graphtide_core.ids import StreamName
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_serving.access.keys import hash_key
from graphtide_wire import dead_letters
from graphtide_wire.ordered import RECORDS

from graphtide_testing.deployment import Deployment
from graphtide_testing.faults import Faults
from graphtide_testing.fleet import Fleet
from graphtide_testing.resident_memory import SLOPE_SECONDS, Lives, Patience, Sample, slope
from graphtide_testing.servers.process import ServerError, free_ports
from graphtide_testing.slow_clients import SlowClients
from graphtide_testing.steady_load import PATTERNS, STREAM, SteadyLoad, list_reported
from graphtide_testing.tail import Tail
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.ports.log import Record

    from graphtide_testing.accounting import Reported

MOST_GROWTH: Final = 0.01
"""The most that memory may grow in `SLOPE_SECONDS`, as a share."""

MATCHERS: Final = ("matcher_timing", "matcher_sjtree", "matcher_simulation", "matcher_event_pattern", "matcher_algebra")
WITNESSES: Final = (
    "ingestion.1", "sequencer", "admin_api.1", "planner", "statistics", *(f"{service}.1" for service in MATCHERS)
)  # fmt: skip

_PATIENCE: Final = 300.0
_SAMPLE_SECONDS: Final = 5.0
_LINE_SECONDS: Final = 60.0
_KEYS: Final = {"owner": ["admin"], "stranger": ["patterns:read", "matches:read", "edges:write"]}
"""Callers, whose keys are their names, and what they may do."""


@dataclass
class Soak:
    """A deployment under a soak.

    Attributes:
        folder: where everything is kept.
        seed: decides the mix of faults.
        rate: edges a second that complete matches.
        minutes: how long it takes until the deployment settles.
    """

    folder: Path
    seed: int
    rate: int
    minutes: float
    memory: dict[str, Lives] = field(default_factory=dict)
    letters: Counter[str] = field(default_factory=Counter)
    _reported: dict[str, list[Reported]] = field(default_factory=dict)
    _clients: list[httpx2.Client] = field(default_factory=list)

    def start(self) -> None:
        """Start everything, and have the patterns run before the first edge.

        Raises:
            ServerError: something does not start.
        """
        deployment = Deployment(self.folder)
        self.fleet = Fleet(deployment, Random(self.seed))  # noqa: S311 - a story, no secret
        deployment.start_servers()
        self._urls: dict[str, str] = {}
        log = KafkaLog(KafkaConnection(deployment.kafka.bootstrap))
        self._matches = Tail(log, deployment.topics.matches)
        self._letters = Tail(log, deployment.topics.dead_letters(StreamName(STREAM)))
        taking = {"STREAMS": json.dumps([STREAM]), "IDLE_SECONDS": "60.0"}
        # Those that take edges make the topics that the others read.
        for name, role in (("ingestion.0", "http"), ("ingestion.1", "http"), ("sequencer", "sequencer")):
            self._add_open("ingestion", name, {**taking, "ROLES": json.dumps([role])})
        for name in ("admin_api.0", "admin_api.1"):
            self._add_open("admin_api", name, {})
        self._add("planner", "planner", {"SHARDS": json.dumps(dict.fromkeys(MATCHERS, 2))})
        self._add("statistics", "statistics", {"PUBLISH_SECONDS": "1.0"})
        for service in MATCHERS:
            for shard in range(2):
                self._add(service, f"{service}.{shard}", {"SHARD": str(shard), "CHECKPOINT_SECONDS": "2.0"})
        self.control = self._client("admin_api.1", "owner")
        wait_until(self._is_ready, _PATIENCE, lambda: "the deployment is not ready")
        for asked in PATTERNS.values():
            self.control.post("/api/v1/patterns", json=asked).raise_for_status()
        wait_until(lambda: self._run(*PATTERNS), _PATIENCE, lambda: "the patterns do not run")
        edges = [self._client(name, "owner") for name in ("ingestion.0", "ingestion.1")]
        self.load = SteadyLoad(edges, Random(f"{self.seed}-load"), self.rate)  # noqa: S311 - a story, no secret
        self._begin(Tail(log, deployment.topics.ordered(StreamName(STREAM))))
        slow = SlowClients(list(self._urls.values()), "stranger", Random(self.seed))  # noqa: S311 - a story, no secret
        spared_after = self.minutes * 60 / 8
        strangers = self._client("admin_api.0", "stranger")
        self.faults = Faults(self.fleet, WITNESSES, spared_after, self.seed, self.control, strangers, slow)

    def run(self, say: Callable[[str], object]) -> None:
        """Run for so many minutes; say a line every minute.

        Raises:
            Exception: what the load or the faults raise.
        """
        begun, is_over = time.monotonic(), Event()
        end, line_at = begun + self.minutes * 60, begun + _LINE_SECONDS
        with ThreadPoolExecutor(2) as beside:
            work: list[Future[None]] = [beside.submit(self.load.run, is_over), beside.submit(self.faults.run, is_over)]
            try:
                while time.monotonic() < end and not any(each.done() for each in work):
                    time.sleep(_SAMPLE_SECONDS)
                    self._sample()
                    if time.monotonic() >= line_at:
                        line_at += _LINE_SECONDS
                        self._read()
                        say(self._line((time.monotonic() - begun) / 60))
            finally:
                is_over.set()
        for each in work:
            each.result()

    def settle(self) -> dict[str, list[str]]:
        """Let the deployment settle; return what is wrong, by pattern, and under `deployment` what is wrong with that."""
        self.fleet.start_ended()

        def is_whole() -> bool:
            self._read()
            return self.completed >= self.load.completing

        with suppress(AssertionError):
            # What is missing then is in the account.
            wait_until(is_whole, _PATIENCE, pause=2.0)
        time.sleep(_SAMPLE_SECONDS)
        self._read()
        wrong = list(self.faults.wrong)
        refused = self.letters["malformed"] + self.letters["unknown-operation"]
        for kind, found, least in (("future", self.letters["future"], self.load.future), ("bad", refused, self.load.bad)):
            if found < least:
                wrong.append(f"{found} letters of {kind} edges, of {least} that had to come")
        return self.load.account(self._reported) | ({"deployment": wrong} if wrong else {})

    def grown(self, patience: Patience) -> list[str]:
        """Return which witnesses were not measured, and whose memory grew too much in any life that was."""
        measured = {name: [slope(life) for life in lives.measured_lives(patience)] for name, lives in self.memory.items()}
        unmeasured = [f"{name} was not measured" for name in WITNESSES if not measured.get(name)]
        grown = [(name, each) for name, found in measured.items() for each in found if each >= MOST_GROWTH]
        return unmeasured + [f"{name} grew by {each:.2%} in {SLOPE_SECONDS / 60:g} minutes" for name, each in grown]

    def table(self, patience: Patience) -> str:
        """Return the memory of every life that is measured, as Markdown."""
        rows = ["| process | minutes measured | MB at first | MB at last | in 10 minutes |", "|---|---:|---:|---:|---:|"]
        for name, lives in self.memory.items():
            for life in lives.measured_lives(patience):
                first, last = life[0], life[-1]
                sizes = f"{first.resident_bytes / 1e6:.1f} | {last.resident_bytes / 1e6:.1f}"
                rows.append(f"| {name} | {(last.at - first.at) / 60:.0f} | {sizes} | {slope(life):+.2%} |")
        return "\n".join(rows)

    @property
    def completed(self) -> int:
        """How many different matches were reported."""
        return sum(len(set(each)) for each in self._reported.values())

    @property
    def repeated(self) -> int:
        """How many were reported again."""
        return sum(map(len, self._reported.values())) - self.completed

    def end(self) -> None:
        """End everything at once."""
        for client in self._clients:
            client.close()
        self.fleet.deployment.end()

    def _add_open(self, service: str, name: str, settings: dict[str, str]) -> None:
        """Start a service that others call."""
        port = free_ports(1)[0]
        keys = [{"name": caller, "hash": hash_key(caller), "scopes": scopes} for caller, scopes in _KEYS.items()]
        self._urls[name] = url = f"http://127.0.0.1:{port}"
        configured = {**settings, "PORT": str(port), "API_KEYS": json.dumps(keys)}
        self.fleet.add(service, configured, name, is_ready=lambda: _lives(url))

    def _add(self, service: str, name: str, settings: dict[str, str]) -> None:
        """Start a service that serves its health alone."""
        port = free_ports(1)[0]
        self._urls[name] = f"http://127.0.0.1:{port}"
        self.fleet.add(service, {**settings, "HEALTH__PORT": str(port)}, name)

    def _begin(self, ordered: Tail) -> None:
        """Have the first edges put in order."""
        taken = self.load.begin()
        records: list[Record] = []

        def are_ordered() -> bool:
            records.extend(ordered.read())
            return sum(int(dict(record.headers)[RECORDS]) for record in records) == taken

        wait_until(are_ordered, _PATIENCE, lambda: "the first edges are not put in order")

    def _client(self, name: str, caller: str) -> httpx2.Client:
        client = httpx2.Client(base_url=self._urls[name], timeout=30, headers={"x-api-key": caller})
        self._clients.append(client)
        return client

    def _is_ready(self) -> bool:
        with suppress(httpx2.TransportError):
            return all(httpx2.get(f"{url}/readyz", timeout=10).status_code == 200 for url in self._urls.values())
        return False

    def _run(self, *names: str) -> bool:
        listed: list[dict[str, Any]] = self.control.get("/api/v1/patterns", params={"limit": 200}).json()["patterns"]
        return {each["name"] for each in listed if each["state"] == "running"} >= set(names)

    def _read(self) -> None:
        """Read what came of matches and letters."""
        for name, each in list_reported(self._matches.read()):
            self._reported.setdefault(name, []).append(each)
        self.letters.update(code for record in self._letters.read() if (code := _code(record)) is not None)

    def _sample(self) -> None:
        for name, program in self.fleet.programs.items():
            # It may be killed right now.
            with suppress(ServerError, FileNotFoundError):
                usage, life = program.usage(), program.starts
                self.memory.setdefault(name, Lives()).add(life, Sample(time.monotonic(), usage.resident_bytes))

    def _line(self, minutes: float) -> str:
        sizes = ", ".join(f"{name} {self._size(lives)}" for name, lives in self.memory.items())
        configured = {
            "right": self.completed,
            "to come": self.load.completing - self.completed,
            "repeated": self.repeated,
            "killed": self.fleet.killed,
            **self.faults.done,
            "limited": self.faults.limited.total(),
            "slow clients": self.faults.slow.made,
            **{f"letters {code}": count for code, count in self.letters.items()},
            "wrong": len(self.faults.wrong),
            "load": round(os.getloadavg()[0], 1),
        }
        counts = ", ".join(f"{name} {value}" for name, value in configured.items())
        return f"{time.strftime('%H:%M')}  {minutes:.0f} min  {counts}; MB: {sizes}"

    def _size(self, lives: Lives) -> str:
        """Return the newest size of a process, and the slope of its life once that is warm."""
        life = lives.samples[-1]
        warm = [each for each in life if each.at - life[0].at >= Patience().warm_seconds]
        grows = f" ({slope(warm):+.2%})" if warm and warm[-1].at - warm[0].at >= 2 * _LINE_SECONDS else ""
        return f"{life[-1].resident_bytes / 1e6:.1f}{grows}"


def _lives(url: str) -> bool:
    with suppress(httpx2.TransportError):
        return httpx2.get(f"{url}/livez", timeout=10).status_code == 200
    return False


def _code(record: Record) -> str | None:
    return next((value.decode(errors="replace") for key, value in record.headers if key == dead_letters.CODE), None)


def main() -> None:
    """Run the soak that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=int, default=100, help="edges a second that complete a match")
    given = parser.parse_args()
    # Child processes end with this one, also when it gets SIGTERM.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    def say(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    with tempfile.TemporaryDirectory(prefix="graphtide-soak-") as folder:
        soak = Soak(Path(folder), given.seed, given.rate, given.minutes)
        try:
            soak.start()
            soak.run(say)
            flaws = soak.settle()
        finally:
            soak.end()
    grown = soak.grown(Patience())
    say(f"\n{soak.table(Patience())}\n")
    say(f"killed {soak.fleet.kills}, limited {dict(soak.faults.limited)}, matches {soak.completed} of {soak.load.completing}")
    say(f"wrong: {flaws or 'nothing'}; memory: {grown or 'steady'}")
    sys.exit(1 if flaws or grown else 0)


if __name__ == "__main__":
    main()
