"""A pattern's life: registered over HTTP, planned, matched, moved to another service, deleted; with every part at work."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_core.ids import StreamName
from graphtide_core.time import EventTime, TimeUnit
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_log.checkpoints.redis import RedisCheckpoints
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_log.memory import MemoryLog
from graphtide_matcher_sjtree.bootstrap import matcher as sjtree
from graphtide_matcher_sjtree.settings import Settings as SjtreeSettings
from graphtide_matcher_timing.bootstrap import matcher as timing
from graphtide_matcher_timing.settings import Settings as TimingSettings
from graphtide_planner.bootstrap import planner
from graphtide_planner.settings import PlannerSettings
from graphtide_serving.process import Workers
from graphtide_statistics.bootstrap import counter
from graphtide_statistics.settings import StatisticsSettings
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until
from graphtide_testing.watched import WatchedLog
from graphtide_wire import ordered, ordered_body
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_core.ports.log import Log

S = StreamName("s")
TEXT = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 1000"


@dataclass
class Deployment:
    """Every part at work over one log."""

    log: Log
    prefix: str
    read_by_second: Sequence[int]
    """Offsets of ordered records that the second service has read."""
    url: str = ""
    sent: int = 0
    http: httpx2.Client = field(init=False)

    def __post_init__(self) -> None:
        self.http = httpx2.Client(base_url=self.url)
        self.writer = self.log.writer()
        self.topics = Topics(self.prefix)

    def pay(self, *pairs: str) -> None:
        """Write payments as one ordered record: "ab" is one of a to b."""
        numbers = range(self.sent, self.sent + len(pairs))
        columns: dict[str, Any] = {
            "ts": list(numbers),
            "src": [pair[0] for pair in pairs],
            "dst": [pair[1] for pair in pairs],
            "label": ["pays"] * len(pairs),
            "src_label": [None] * len(pairs),
            "dst_label": [None] * len(pairs),
            "id": [str(number) for number in numbers],
        }
        first, last = EventTime(numbers[0]), EventTime(numbers[-1])
        header = ordered.OrderedHeader(first, last, len(pairs), self.sent, last, TimeUnit.MILLISECOND)
        self.sent += len(pairs)
        self.writer.write([ordered.encode(self.topics.ordered(S), header, ordered_body.encode(columns))])
        self.writer.flush(10)

    def until(self, holds: Callable[[], bool]) -> None:
        wait_until(holds, 60, pause=0.02)

    def pattern(self) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get("/api/v1/patterns/p").json()
        return found

    def runs_on(self, service: str) -> bool:
        found = self.pattern()
        return (found["state"], (found["placement"] or {}).get("service")) == ("running", service)

    def found(self) -> list[tuple[str, str]]:
        """The edges of every match that was reported, in order."""
        matches = self.http.get("/api/v1/patterns/p/matches").json()["matches"]
        return sorted((each["match"]["edges"]["x"], each["match"]["edges"]["y"]) for each in matches)


@pytest.fixture(params=["memory", "kafka"])
def log(request: pytest.FixtureRequest) -> Log:
    return MemoryLog() if request.param == "memory" else KafkaLog(KafkaConnection(request.getfixturevalue("kafka")))


@pytest.fixture
def checkpoints(log: Log, request: pytest.FixtureRequest) -> Callable[[str], CheckpointStore]:
    """What gives each host of a prefix the checkpoints of all: on Kafka, in Redis."""
    if isinstance(log, MemoryLog):
        kept = MemoryCheckpoints()
        return lambda _: kept
    url = request.getfixturevalue("redis_server")
    return lambda prefix: RedisCheckpoints(url, prefix=prefix)


@pytest.fixture
def deployment(log: Log, checkpoints: Callable[[str], CheckpointStore]) -> Iterator[Deployment]:
    prefix = f"e2e{uuid.uuid4().hex[:8]}"
    log.admin().ensure(Topics(prefix).of_deployment())
    watched: Any = WatchedLog(log, Topics(prefix).ordered(S))
    workers = Workers(
        [
            planner(PlannerSettings(prefix=prefix), log),
            counter(StatisticsSettings(prefix=prefix, publish_seconds=0.1), log),
            timing(TimingSettings(prefix=prefix, counts_seconds=0.1), log, checkpoints(prefix)),
            sjtree(SjtreeSettings(prefix=prefix, counts_seconds=0.1), watched, checkpoints(prefix)),
        ]
    )
    workers.start()
    api = AdminApiSettings(prefix=prefix, insecure=True, requests_per_second=10_000, burst=10_000)
    with serve(admin_api(api, log)) as url:
        found = Deployment(log, prefix, watched.read, url)
        found.until(lambda: found.http.get("/readyz").status_code == 200)
        yield found
        found.http.close()
    workers.end()


# Kafka's fixture is named here so that its tests run beside the others that need it.
def test_a_pattern_lives_from_its_registration_to_its_end(deployment: Deployment) -> None:
    registered = deployment.http.post("/api/v1/patterns", json={"text": TEXT, "engine": "timing"})
    assert registered.status_code == 201
    deployment.until(lambda: deployment.runs_on("matcher_timing"))
    with deployment.http.stream("GET", "/api/v1/patterns/p/matches:stream", timeout=30) as events:
        lines = events.iter_lines()
        assert next(lines) == "retry: 1000"
        deployment.pay("ab", "bc")
        event = [line for line, _ in zip(lines, range(4), strict=False)]
    assert any(line.startswith("data: ") and '"x":"0","y":"1"' in line for line in event)
    deployment.until(lambda: deployment.http.get("/api/v1/statistics/s").status_code == 200)

    moved = deployment.http.patch("/api/v1/patterns/p", json={"engine": "sj-tree"}, headers={"If-Match": "*"})
    assert moved.json()["version"] == 1
    deployment.pay("cd")
    deployment.until(lambda: deployment.runs_on("matcher_sjtree"))
    deployment.pay("de", "ef")
    deployment.until(lambda: len(deployment.found()) == 4)
    assert deployment.found() == [("0", "1"), ("1", "2"), ("2", "3"), ("3", "4")]
    # The edges of the first record came with the plan.
    assert 0 not in deployment.read_by_second

    deployment.http.post("/api/v1/patterns/p:pause")
    deployment.until(lambda: deployment.pattern()["state"] == "paused")
    assert deployment.http.delete("/api/v1/patterns/p", headers={"If-Match": "*"}).status_code == 204
    assert deployment.http.get("/api/v1/patterns/p").status_code == 404
