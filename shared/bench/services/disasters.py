"""What a deployment does when something is lost for good: Redis, a topic, or the broker's disk.

`python shared/bench/services/disasters.py [--only NAME]`

Each disaster happens to a deployment of its own, with two patterns and a stream. It reports what happens by itself within half
a minute, then when every service is started again, and then when the patterns are registered again. For a broker without its
disk it also tries at once what `docs/how-to/disaster.md` says (`broker-empty-begun-anew`). One of three brokers is lost with
its disk, and comes back later without (`broker-of-three`).
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
from confluent_kafka.admin import AdminClient
from graphtide_bench.frame.script import Script
from graphtide_core.ids import StreamName
from graphtide_testing.servers.kafka import KafkaBrokers
from graphtide_testing.whole import Whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_testing.servers import KafkaServer

STREAM = "s"
PATTERNS = {
    "pair": "PATTERN pair MATCH (a)-[x:x]->(b)-[y:y]->(c) ORDER x < y ON s WINDOW 1000000",
    "one": "PATTERN one MATCH (a)-[z:z]->(b) ON s WINDOW 100",
}
BY_ITSELF_SECONDS = 30.0


class Trial:
    """One deployment, and what is seen of it."""

    def __init__(self, folder: Path, brokers: int = 1) -> None:
        """Start it over so many brokers, with its patterns, and half a match in the window."""
        self.folder = folder
        self.whole = Whole(folder, brokers=brokers)
        self.whole.start()
        self.number = 0
        self.lost: KafkaServer | None = None
        """The broker that was lost, of several."""
        self.archive: list[bytes] = []
        """What was sent, as an archive of the raw topic has it."""
        self.expected = 1
        """Matches that should have been reported since the patterns were registered first."""
        self.send("x", "a", "b")
        for text in PATTERNS.values():
            self.whole.register(text)
        self.send("z", "p", "q")
        self.send("x", "a", "b")
        self.whole.settle(STREAM)
        time.sleep(2)

    def send(self, label: str, source: str, target: str) -> None:
        """Send one edge."""
        self.number += 1
        edge = {"id": f"e{self.number}", "ts": self.number, "src": source, "dst": target, "label": label}
        line = json.dumps(edge).encode()
        self.whole.send(STREAM, line)
        self.archive.append(line)

    def state(self) -> dict[str, object]:
        """Return what is seen from outside: which patterns there are, and what edges that are sent now bring."""
        before = self._matches()
        sent = "taken"
        try:
            self.send("z", "p", "q")
            self.send("y", "b", "c")
            self.expected += 3
        except AssertionError as error:
            sent = str(error)
        time.sleep(8)
        after = self._matches()
        return {
            "patterns": self._patterns(),
            "edges": sent,
            "matches": None if before is None or after is None else len(after) - len(before),
            "repeated": None if after is None else len(after) - len(set(after)),
            "lacking": None if after is None else self.expected - len(set(after)),
            "unready": self._unready(),
            "ended": [name for name, program in self.whole.services.items() if not program.is_running()],
        }

    def restart(self) -> None:
        """End all services and start them again."""
        for program in self.whole.services.values():
            program.stop()
        for program in self.whole.services.values():
            program.start()
        time.sleep(20)

    def register(self) -> None:
        """Register the patterns again."""
        for text in PATTERNS.values():
            with suppress(httpx2.TransportError):
                self.whole.control.post("/api/v1/patterns", json={"text": text})
        time.sleep(10)

    def begin_anew(self) -> None:
        """Bring back what a deployment has in Kafka, once that is empty: topics, patterns, and the edges of the archive."""
        for program in self.whole.services.values():
            program.stop()
        redis_empty(self)
        ingestion = self.whole.services["ingestion"]
        ingestion.start(lambda: self._is_ready(self.whole.edges))
        for name, program in self.whole.services.items():
            if name != "ingestion":
                program.start()
        self.whole.wait_until(lambda: self._is_ready(self.whole.control), "the admin API is ready")
        for text in PATTERNS.values():
            self.whole.register(text)
        for line in self.archive:
            self.whole.send(STREAM, line)
        self.whole.settle(STREAM)

    @staticmethod
    def _is_ready(client: httpx2.Client) -> bool:
        with suppress(httpx2.TransportError):
            return client.get("/readyz").status_code == 200
        return False

    def _patterns(self) -> object:
        try:
            found = self.whole.control.get("/api/v1/patterns").json()
        except httpx2.TransportError:
            return "no answer"
        listed = found.get("patterns")
        return found.get("code") if listed is None else {each["name"]: each["state"] for each in listed}

    def _matches(self) -> list[str] | None:
        try:
            return [json.loads(match)["match_id"] for match in self.whole.matches(quiet=1.0)]
        except Exception:
            return None

    def _unready(self) -> list[str]:
        found = []
        for name, client in (("ingestion", self.whole.edges), ("admin_api", self.whole.control)):
            with suppress(httpx2.TransportError):
                if client.get("/readyz").status_code != 200:
                    found.append(name)
        return found


def redis_empty(trial: Trial) -> None:
    """Redis comes back without its data."""
    redis = trial.whole.deployment.redis
    redis.kill()
    redis.forget()
    redis.start()


def redis_gone(trial: Trial) -> None:
    """Redis does not come back."""
    trial.whole.deployment.redis.kill()


def broker_back(trial: Trial) -> None:
    """The only broker crashes, and comes back with its disk."""
    trial.whole.deployment.kafka.kill()
    trial.whole.deployment.kafka.start()


def broker_empty(trial: Trial) -> None:
    """The only broker crashes, and comes back with an empty disk."""
    kafka = trial.whole.deployment.kafka
    kafka.kill()
    kafka.forget()
    kafka.start()


def broker_of_three_gone(trial: Trial) -> None:
    """One of three brokers crashes for good: the one that leads the ordered stream."""
    kafka = trial.whole.deployment.kafka
    assert isinstance(kafka, KafkaBrokers)
    client = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    ordered = trial.whole.deployment.topics.ordered(StreamName(STREAM))
    trial.lost = kafka.brokers[client.list_topics(timeout=30).topics[ordered].partitions[0].leader - 1]
    trial.lost.kill()
    trial.lost.forget()


def broker_comes_back(trial: Trial) -> None:
    """The broker that was lost comes back with an empty disk, and gets what the others have."""
    assert trial.lost is not None
    trial.lost.start()
    client = AdminClient({"bootstrap.servers": trial.whole.deployment.kafka.bootstrap, "log_level": 0})

    def is_whole() -> bool:
        topics = client.list_topics(timeout=30).topics.values()
        return bool(topics) and all(
            len(part.isrs) == len(part.replicas) for each in topics for part in each.partitions.values()
        )

    trial.whole.wait_until(is_whole, "all replicas are in sync", 300)


def topic(kind: str) -> Callable[[Trial], None]:
    """Return what deletes a topic."""

    def lose(trial: Trial) -> None:
        topics = trial.whole.deployment.topics
        stream = StreamName(STREAM)
        names = {"in": topics.raw(stream), "ordered": topics.ordered(stream), "matches": topics.matches}
        name = names.get(kind) or str(getattr(topics, kind))
        client = AdminClient({"bootstrap.servers": trial.whole.deployment.kafka.bootstrap})
        for future in client.delete_topics([name], operation_timeout=30).values():
            future.result(30)

    return lose


DISASTERS = {
    "redis-empty": redis_empty,
    "redis-gone": redis_gone,
    "broker-back": broker_back,
    "broker-empty": broker_empty,
    "broker-empty-begun-anew": broker_empty,
    "broker-of-three": broker_of_three_gone,
    **{f"topic-{kind}": topic(kind) for kind in ("patterns", "plans", "status", "statistics", "matches", "ordered", "in")},
}

THEN: dict[str, Callable[[Trial], None]] = {
    "by itself": lambda _: time.sleep(BY_ITSELF_SECONDS),
    "restarted": Trial.restart,
    "registered": Trial.register,
}
"""What is done after a disaster, one step after the other; the state is printed after each."""

OTHERWISE: dict[str, dict[str, Callable[[Trial], None]]] = {
    "broker-empty-begun-anew": {"begun anew": Trial.begin_anew},
    "broker-of-three": {
        "by itself": lambda _: time.sleep(BY_ITSELF_SECONDS),
        "back": broker_comes_back,
        "restarted": Trial.restart,
    },
}
"""Disasters after which something else comes."""


def main() -> None:
    """Try the disasters; show a row for each moment that follows."""
    script = Script(__file__, __doc__)
    script.option("--only", choices=sorted(DISASTERS))
    only = script.arguments().only
    for name in [only] if only else DISASTERS:
        folder = Path(tempfile.mkdtemp())
        trial = None
        try:
            trial = Trial(folder, brokers=3 if name == "broker-of-three" else 1)
            DISASTERS[name](trial)
            for reported, follows in OTHERWISE.get(name, THEN).items():
                follows(trial)
                script.add({"disaster": name, "when": reported, **trial.state()})
        except Exception as error:
            script.add({"disaster": name, "when": "ended", "error": repr(error)[:500]})
        finally:
            if trial is not None:
                trial.whole.end()
            shutil.rmtree(folder, ignore_errors=True)
    script.hand_out()


if __name__ == "__main__":
    main()
