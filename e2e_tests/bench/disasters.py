"""What a deployment does when something is lost for good: Redis, a topic, or the broker's disk.

`python e2e_tests/bench/disasters.py [--only NAME]`

Each disaster happens to a deployment of its own, with two patterns and a stream. Told is what happens by itself within half a
minute, then what happens when every service is started again, and then when the patterns are registered again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
from confluent_kafka.admin import AdminClient
from graphtide_core.ids import StreamName
from graphtide_testing.whole import Whole

if TYPE_CHECKING:
    from collections.abc import Callable

STREAM = "s"
PATTERNS = {
    "pair": "PATTERN pair MATCH (a)-[x:x]->(b)-[y:y]->(c) ORDER x < y ON s WINDOW 1000000",
    "one": "PATTERN one MATCH (a)-[z:z]->(b) ON s WINDOW 100",
}
BY_ITSELF_SECONDS = 30.0


class Trial:
    """One deployment, and what is seen of it."""

    def __init__(self, folder: Path) -> None:
        """Start it, with its patterns, and half a match in the window."""
        self.folder = folder
        self.whole = Whole(folder)
        self.whole.start()
        self.number = 0
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
        self.whole.send(STREAM, json.dumps(edge).encode())

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
    **{f"topic-{kind}": topic(kind) for kind in ("patterns", "plans", "status", "statistics", "matches", "ordered", "in")},
}


def main() -> None:
    """Try the disasters; print one JSON object a line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=sorted(DISASTERS))
    only = parser.parse_args().only
    for name in [only] if only else DISASTERS:
        folder = Path(tempfile.mkdtemp())
        found: dict[str, object] = {"disaster": name}
        trial = None
        try:
            trial = Trial(folder)
            DISASTERS[name](trial)
            time.sleep(BY_ITSELF_SECONDS)
            found["by itself"] = trial.state()
            trial.restart()
            found["restarted"] = trial.state()
            trial.register()
            found["registered"] = trial.state()
        except Exception as error:
            found["ended"] = repr(error)[:500]
        finally:
            if trial is not None:
                trial.whole.end()
            shutil.rmtree(folder, ignore_errors=True)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
