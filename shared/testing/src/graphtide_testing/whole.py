"""All services of a deployment as processes, spoken to as users do: over HTTP and with a plain Kafka client."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx2
from confluent_kafka import Consumer, Message
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import TopicPartition
from graphtide_log.follower import Follower
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_native.records import ArrowDecoder, Symbols

from graphtide_testing.deployment import Deployment, Program
from graphtide_testing.servers.process import free_ports
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from random import Random

    from graphtide_testing.servers.process import Usage

PATIENCE = 180.0
"""Seconds within which a deployment that works has done what it was asked."""

SERVICES = ("ingestion", "admin_api", "planner", "statistics", "matcher_timing", "matcher_sjtree", "matcher_simulation")
"""Ingestion makes the topics that the others read."""

QUICK = {
    "matcher_timing": {"LINGER_SECONDS": "0.05", "CHECKPOINT_SECONDS": "0.5", "COUNTS_SECONDS": "0.2"},
    "matcher_simulation": {"LINGER_SECONDS": "0.05", "CHECKPOINT_SECONDS": "0.5", "COUNTS_SECONDS": "0.2"},
    "matcher_event_pattern": {"LINGER_SECONDS": "0.05", "CHECKPOINT_SECONDS": "0.5", "COUNTS_SECONDS": "0.2"},
    "matcher_algebra": {"LINGER_SECONDS": "0.05", "CHECKPOINT_SECONDS": "0.5", "COUNTS_SECONDS": "0.2"},
    "matcher_sjtree": {"LINGER_SECONDS": "0.05", "CHECKPOINT_SECONDS": "0.5", "COUNTS_SECONDS": "0.2"},
}


class Whole:
    """A deployment with every service, or those named.

    Attributes:
        deployment: the servers.
        services: programs by the names of their services.
        edges: client of ingestion.
        control: client of the admin API.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Mapping[str, str]] | None = None,
        surroundings: Mapping[str, str] | None = None,
        names: Sequence[str] = SERVICES,
        *,
        brokers: int = 1,
    ) -> None:
        """Prepare; `settings` are variables by service, without the services' prefixes, `surroundings` those of all.

        Services start in the order of `names`.
        """
        self.deployment = Deployment(folder, surroundings=surroundings, brokers=brokers)
        self._names = names
        self._settings = {**QUICK, **(settings or {})}
        self.services: dict[str, Program] = {}

    def start(self) -> None:
        """Start servers and services; return when both HTTP sides are ready.

        Raises:
            ServerError: something does not start.
        """
        self.deployment.start_servers()
        ingestion, admin = free_ports(2)
        open_to_all = {"INSECURE": "true", "REQUESTS_PER_SECOND": "1000", "BURST": "1000"}
        own = {
            "ingestion": {
                "PORT": str(ingestion),
                **open_to_all,
                "CREATE_STREAMS": "true",
                "IDLE_SECONDS": "1.0",
                # A record out of order is late at once, and edges pass at once.
                "LATENESS": "0",
            },
            "admin_api": {"PORT": str(admin), **open_to_all},
        }
        self.edges = httpx2.Client(base_url=f"http://127.0.0.1:{ingestion}", timeout=30)
        self.control = httpx2.Client(base_url=f"http://127.0.0.1:{admin}", timeout=30)
        for name in self._names:
            self.add(name, own.get(name, {}))

    def add(self, name: str, settings: Mapping[str, str]) -> Program:
        """Start one more service; what was given for it at first goes before these settings.

        Raises:
            ServerError: it does not start.
        """
        program = self.services[name] = self.deployment.service(name, {**settings, **self._settings.get(name, {})})
        program.start(self._readiness(name))
        return program

    def register(self, text: str) -> dict[str, Any]:
        """Register a pattern and return it once it runs."""
        answer = self.control.post("/api/v1/patterns", json={"text": text})
        assert answer.status_code == 201, answer.text
        name = answer.json()["name"]
        self.wait_until(lambda: self.pattern(name)["state"] == "running", f"{name} runs")
        return self.pattern(name)

    def pattern(self, name: str) -> dict[str, Any]:
        """Return a pattern as the API shows it."""
        found: dict[str, Any] = self.control.get(f"/api/v1/patterns/{name}").json()
        return found

    def send(self, stream: str, lines: bytes, **headers: str) -> dict[str, Any]:
        """Send edges as JSON Lines, again while the service is not there; return its answer."""
        configured = {"content-type": "application/x-ndjson", **headers}
        begun = time.monotonic()
        while True:
            with suppress(httpx2.TransportError):
                answer = self.edges.post(f"/api/v1/streams/{stream}/edges", content=lines, headers=configured)
                found: dict[str, Any] = answer.json()
                if answer.status_code == 202 or found["code"] == "all-rejected":
                    return found
                assert answer.status_code in {429, 503}, answer.text
            assert time.monotonic() - begun < PATIENCE, "ingestion does not answer"
            time.sleep(0.2)

    def send_records(self, stream: str, records: Iterable[Mapping[str, object]]) -> None:
        """Send edges, or deletions, as JSON."""
        self.send(stream, "".join(json.dumps(record) + "\n" for record in records).encode())

    def restart_one(self, names: Sequence[str], rng: Random) -> None:
        """Kill one of these services and start it anew.

        Returns up to a second later, which the story decides: so what follows meets the service anywhere in its start.
        """
        victim = self.services[rng.choice(names)]
        victim.kill()
        victim.start()
        time.sleep(rng.random())

    def settle(self, stream: str) -> float:
        """Wait until every edge taken was put in order and matched; return how long that took, in seconds."""
        begun, topics = time.monotonic(), self.deployment.topics
        log = KafkaLog(KafkaConnection(self.deployment.kafka.bootstrap))
        raw = [TopicPartition(topics.raw(StreamName(stream)), number) for number in range(4)]
        self._read_to_the_end(log, f"{topics.prefix}.sequencer.{stream}", raw)
        self.settle_matchers(stream)
        return time.monotonic() - begun

    def settle_matchers(self, stream: str) -> None:
        """Wait until every ordered edge was matched."""
        topics = self.deployment.topics
        log = KafkaLog(KafkaConnection(self.deployment.kafka.bootstrap))
        ordered = [TopicPartition(topics.ordered(StreamName(stream)), 0)]
        self.wait_until(lambda: self.control.get("/readyz").status_code == 200, "the admin API is ready")
        listed = self.control.get("/api/v1/patterns").json()["patterns"]
        for service in sorted({each["placement"]["service"] for each in listed if each["stream"] == stream}):
            self._read_to_the_end(log, f"{topics.prefix}.{service}.0", ordered)

    def ordered_edges(self, stream: str, attributes: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Return the edges that were put in order, as they were, with these attributes."""
        return [edge for _, edge in self.placed_edges(stream, attributes)]

    def placed_edges(self, stream: str, attributes: Sequence[str] = ()) -> list[tuple[int, dict[str, Any]]]:
        """Return the edges that were put in order, with the offsets of their ordered records."""
        follower = Follower(
            KafkaLog(KafkaConnection(self.deployment.kafka.bootstrap)), self.deployment.topics.ordered(StreamName(stream))
        )
        decoder = ArrowDecoder(Symbols(), list(attributes), {})
        try:
            records = sorted(follower.committed(), key=lambda record: record.offset)
            return [(each.offset, edge) for each in records for edge in decoder.decode(each.value or b"").to_records()]
        finally:
            follower.close()

    def matches(self, quiet: float = 3.0) -> list[bytes]:
        """Return the match records that a consumer that is not ours reads, until it reads none for so many seconds."""
        return [message.value() or b"" for message in self.match_messages(quiet)]

    def match_messages(self, quiet: float = 3.0) -> list[Message]:
        """Return what `matches` does, with keys and headers."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.deployment.kafka.bootstrap,
                "group.id": f"anyone-{time.monotonic_ns()}",
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe([self.deployment.topics.matches])
        found: list[Message] = []
        until = time.monotonic() + quiet + 5
        while time.monotonic() < until:
            for message in consumer.consume(1000, 0.5):
                assert message.error() is None
                found.append(message)
                until = time.monotonic() + quiet
        consumer.close()
        return found

    def wait_until(self, holds: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
        """Return as soon as it holds.

        Raises:
            AssertionError: it does not within so many seconds; with the ends of the services' logs.
        """

        def configured() -> str:
            return "\n".join([what, *(f"{name}: {each.output.read_text()[-1500:]}" for name, each in self.services.items())])

        wait_until(lambda: self._holds(holds), seconds, configured)

    def usage(self) -> dict[str, Usage]:
        """Return what every process takes, by name."""
        servers = {"kafka": self.deployment.kafka.usage(), "redis": self.deployment.redis.usage()}
        return servers | {name: program.usage() for name, program in self.services.items()}

    def end(self) -> None:
        """End everything at once."""
        self.edges.close()
        self.control.close()
        self.deployment.end()

    def _readiness(self, name: str) -> Callable[[], bool]:
        client = {"ingestion": self.edges, "admin_api": self.control}.get(name)
        if client is None:
            return lambda: True
        return lambda: self._holds(lambda: client.get("/readyz").status_code == 200)

    @staticmethod
    def _holds(holds: Callable[[], bool]) -> bool:
        try:
            return holds()
        except (httpx2.TransportError, KeyError):
            return False

    def _read_to_the_end(self, log: KafkaLog, group: str, partitions: list[TopicPartition]) -> None:
        reader = log.reader(group)

        def is_read() -> bool:
            # Offsets alone do not show it: the last of them may be the mark of a transaction's end.
            committed = reader.committed(partitions)
            reader.assign({place: at.offset if (at := committed[place]) is not None else 0 for place in partitions})
            while not (records := reader.poll(1.0, 1)):
                if reader.at_end():
                    return True
            return not records

        try:
            self.wait_until(is_read, f"{group} reads to the end")
        finally:
            reader.close()
