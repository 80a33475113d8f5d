"""A matcher service that the planner scales, under a load that comes and goes: what it saw, and what it decided.

`python shared/bench/services/scaling.py [--record FILE] [--rate 1500] [--patterns 12]`

Matchers, ingestion and the admin API are processes on real Kafka and Redis. The planner runs in this one, and asks the API
server of the tests for replicas. A stand-in for Kubernetes starts and ends shards as it is asked. Edges come at a rate that one
shard is too busy with, until there are two; then few, until there is one again. Times are shorter than a deployment would have
them, and said in what is recorded: `services/planner/tests/fixtures/situations` has such records, which the pure decision must
follow.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import msgspec
from graphtide_bench.frame.script import Script
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_planner.application import scaler
from graphtide_planner.bootstrap import workers
from graphtide_planner.domain.scaling import History, decide
from graphtide_planner.settings import PlannerSettings
from graphtide_serving.loop import run
from graphtide_testing.servers.kubernetes import NAMESPACE, KubernetesApi, KubernetesServer
from graphtide_testing.whole import Whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from graphtide_planner.domain.scaling import Aims, Decision, Situation
    from graphtide_testing.deployment import Program

SERVICE, SET = "matcher_timing", "matcher-timing"
STREAM = "s"
VERTICES = 60
AIMS = {
    "BUSY": "0.4",
    "BUSY_AFTER": "0.3",
    "LAG_SECONDS": "60",
    "OUT_AFTER_SECONDS": "6",
    "IN_AFTER_SECONDS": "12",
    "REST_SECONDS": "10",
    "EVERY_SECONDS": "2",
}
"""Settings of the planner, in place of its own minutes."""

NEVER = 1e9
"""Age in seconds of the counts of a host that has not reported any."""

PHASE_SECONDS = 240.0
"""How long a load is kept up at most until replicas are as many as is waited for."""

AFTER_SECONDS = 14.0
"""How long it is kept up after that."""


@dataclass
class Recorder:
    """Records each decision when it is made."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    first: float = 0.0
    begun: History | None = None
    aims: Aims | None = None

    def decide(self, now: Situation, history: History, aims: Aims) -> Decision:
        """Decide, and note it."""
        decision = decide(now, history, aims)
        if self.begun is None:
            self.first, self.begun, self.aims = now.at, history, aims
        situation = msgspec.to_builtins(now)
        # Times count from the first; nothing else of them is looked at.
        situation["at"] = now.at - self.first
        self.steps.append({"situation": situation, "wanted": decision.wanted, "reason": decision.reason})
        for host in situation["hosts"]:
            # JSON has no infinity for a host that has reported nothing.
            host["age_seconds"] = min(host["age_seconds"], NEVER)
        busy = " ".join(f"{each.busy:.0%} of {each.patterns}" for each in now.hosts)
        sys.stderr.write(f"{situation['at']:7.1f} s: {now.ready} of {now.replicas} ready, busy {busy}: {decision.reason}\n")
        return decision

    def record(self, reported: str) -> dict[str, Any]:
        """Return the record, in the form of the fixtures."""
        begun = self.begun or History()
        # Who begins rests: nothing else is remembered then.
        rests_since = None if begun.changed_at is None else begun.changed_at - self.first
        history = msgspec.to_builtins(replace(begun, changed_at=rests_since))
        return {"description": reported, "aims": msgspec.to_builtins(self.aims), "history": history, "steps": self.steps}


class Shards:
    """Stands in for the controller of a StatefulSet and for kubelets: as many processes as are asked for."""

    def __init__(self, api: KubernetesApi, whole: Whole) -> None:
        """Begin with one."""
        self._api, self._whole = api, whole
        self._programs: list[Program] = []
        self._known: list[Program] = []
        api.put_stateful_set(SET, 1, ready=0)

    def follow(self, stop: Event) -> None:
        """Start and end shards until `stop` is set."""
        while not stop.wait(0.3):
            asked = self._api.replicas(SET)
            while len(self._programs) < asked:
                self._programs.append(self._shard(len(self._programs)))
                self._programs[-1].start()
            while len(self._programs) > asked:
                self._programs.pop().stop()
            ready = sum(each.is_running() for each in self._programs)
            with self._api.changed:
                if self._api.replicas(SET) == asked:
                    self._api.put_stateful_set(SET, asked, ready)

    def _shard(self, number: int) -> Program:
        if number == len(self._known):
            reported = {"SHARD": str(number), "LINGER_SECONDS": "0.05", "COUNTS_SECONDS": "0.5"}
            self._known.append(self._whole.deployment.service(SERVICE, reported, instance=str(number)))
        return self._known[number]


class Sender:
    """Sends edges of one label between few vertices, at a rate that can be changed."""

    def __init__(self, whole: Whole) -> None:
        """Send nothing yet."""
        self._whole, self._random, self._number = whole, Random(1), 0
        self.rate = 0.0

    def go_on(self, stop: Event) -> None:
        """Send until `stop` is set."""
        while not stop.wait(0.1):
            count = int(self.rate * 0.1)
            if count:
                self._whole.send(STREAM, b"".join(self._edge() for _ in range(count)))

    def _edge(self) -> bytes:
        self._number += 1
        source, target = self._random.sample(range(VERTICES), 2)
        edge = {"ts": self._number, "src": f"v{source}", "dst": f"v{target}", "label": "k"}
        return json.dumps(edge).encode() + b"\n"


@contextmanager
def beside(*calls: Callable[[Event], None]) -> Iterator[None]:
    """Run calls in threads, which end when their event is set."""
    stop = Event()
    threads = [Thread(target=call, args=(stop,)) for call in calls]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(120)


def main() -> None:
    """Scale, and print what was decided; with `--record`, write it, too."""
    script = Script(__file__, __doc__)
    script.option("--record", type=Path)
    script.option("--rate", type=float, default=1500.0, help="edges a second that are too many for one shard")
    script.option("--patterns", type=int, default=12)
    asked = script.arguments()
    with tempfile.TemporaryDirectory() as folder:
        whole = Whole(Path(folder), names=("ingestion", "admin_api", "statistics"))
        try:
            whole.start()
            found = run_scaling(whole, Path(folder), asked.rate, asked.patterns)
        finally:
            whole.end()
    if asked.record is not None:
        asked.record.write_text(json.dumps(found, indent=1, allow_nan=False) + "\n", "utf-8")
    numbers = [step["situation"]["replicas"] for step in found["steps"]]
    changes = [after for before, after in zip([0, *numbers], numbers, strict=False) if before != after]
    script.add({"decisions": len(numbers), "replicas": changes})
    script.hand_out()


def run_scaling(whole: Whole, folder: Path, rate: float, patterns: int) -> dict[str, Any]:
    """Let load come and go; return what was decided."""
    (folder / "kubernetes").mkdir()
    server, recorder = KubernetesServer(KubernetesApi(), folder / "kubernetes"), Recorder()
    reported = {
        **AIMS,
        "MODE": "on",
        "SERVICES": json.dumps({SERVICE: {"stateful_set": SET, "least": 1, "most": 2}}),
        "SERVER": server.url,
        "TOKEN": str(server.token),
        "AUTHORITIES": str(server.authorities),
        "NAMESPACE": NAMESPACE,
    }
    variables = {f"GRAPHTIDE_PLANNER_SCALING__{name}": value for name, value in reported.items()}
    variables["GRAPHTIDE_PLANNER_PREFIX"] = whole.deployment.topics.prefix
    with server.running(), patch.dict(os.environ, variables), patch.object(scaler, "decide", recorder.decide):
        log = KafkaLog(KafkaConnection(whole.deployment.kafka.bootstrap))
        shards, sender = Shards(server.api, whole), Sender(whole)
        made = workers(PlannerSettings(), log)
        with beside(shards.follow, sender.go_on, *(lambda stop, each=each: run(each, stop) for each in made)):
            for number in range(patterns):
                # No two of them share what they keep, and all keep every pair of edges.
                rare = f'MATCH (a)-[x:k]->(b)-[y:k]->(c)-[z:rare]->(d) WHERE b.id != "{number}" ORDER x < y < z'
                text = f"PATTERN p{number} {rare} ON {STREAM} WINDOW 1500"
                answer = whole.control.post("/api/v1/patterns", json={"text": text, "engine": "timing"})
                assert answer.status_code == 201, answer.text
            for load, replicas in ((rate, 2), (rate / 100, 1)):
                sender.rate = load
                whole.wait_until(
                    lambda: server.api.replicas(SET) == replicas,  # noqa: B023 - it is waited for here
                    f"{replicas} replicas",
                    PHASE_SECONDS,
                )
                time.sleep(AFTER_SECONDS)
    text = f"{patterns} patterns, {rate:g} edges a second until there are two replicas, then a hundredth until there is one."
    return recorder.record(f"As it was measured: {text}")


if __name__ == "__main__":
    main()
