"""The API over a log in memory, and the hand of those it works with."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import pytest
from fastapi.testclient import TestClient
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_log.memory import MemoryLog
from graphtide_query import parse_subgraphs
from graphtide_query.planner import plan
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.settings import KeySettings
from graphtide_testing.waiting import wait_until
from graphtide_wire import control, matches
from graphtide_wire.plans import form_of
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from graphtide_core.ports.log import Log

    State = Literal["running", "paused", "stopped", "failed"]

TOPICS = Topics()
AT = datetime(2024, 1, 1, tzinfo=UTC)
TEXT = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10"
KEYS = {
    "writer": ["patterns:read", "patterns:write"],
    "reader": ["patterns:read", "matches:read"],
    "root": ["admin"],
    "of s": ["patterns:read:stream=s"],
}


def settings() -> AdminApiSettings:
    keys = [KeySettings(name=name, hash=hash_key(name), scopes=scopes) for name, scopes in KEYS.items()]
    return AdminApiSettings(api_keys=keys, requests_per_second=10_000, burst=10_000)


@dataclass
class Deployment:
    """A log, and a client that may do everything."""

    log: Log
    http: TestClient

    def __post_init__(self) -> None:
        self.writer = self.log.writer()

    def write(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        self.writer.write([Message(topic, key, value)])

    def registered(self) -> list[control.PatternRecord | None]:
        """Return all that was ever written of patterns."""
        reader = self.log.reader(None)
        reader.assign({TopicPartition(TOPICS.patterns, 0): 0})
        records = reader.poll(0, 1000)
        return [control.decode_pattern(each.value) if each.value is not None else None for each in records]

    def publish(self, version: int = 1) -> None:
        """Publish a plan of the pattern, as the planner would."""
        (pattern,) = parse_subgraphs(TEXT)
        record = control.PlanRecord(
            "p", version, 1, "timing", "matcher_timing", 0, form_of(plan(pattern, "timing").physical),
            control.PatternText(TEXT), "running",
        )  # fmt: skip
        self.write(TOPICS.plans, b"p", control.encode_plan(record))

    def say(self, state: State, *, version: int = 1, reason: str | None = None, service: str = "matcher_timing") -> None:
        """Say how the pattern's plan stands, as a host would."""
        status = control.StatusRecord(
            "p",
            version,
            1,
            service,
            0,
            state,
            AT,
            reason,
            0,
            3,
            matches=2,
            partial_matches=5,
            state_bytes=700,
            suppressed=4,
        )
        self.write(TOPICS.status, control.status_key(status), control.encode_status(status))

    def report(self, *numbers: int, name: str = "p") -> None:
        """Report matches of a pattern, as a host would."""
        for number in numbers:
            body = f'{{"match_id":"{number:032x}","query":"{name}","kind":"match","detected_at":{number}}}'.encode()
            self.writer.write([matches.encode(TOPICS.matches, body, 1, None)])

    def end(self, stream: str = "s") -> int:
        place = TopicPartition(TOPICS.ordered(StreamName(stream)), 0)
        return self.log.reader(None).ends([place])[place][1]

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until the API has seen something."""
        wait_until(holds, 10, pause=0.01)

    def state(self) -> str:
        return str(self.http.get("/api/v1/patterns/p").json()["state"])


@contextmanager
def over(log: Log) -> Iterator[Deployment]:
    with TestClient(admin_api(settings(), log), headers={"X-API-Key": "root"}) as http:
        yield Deployment(log, http)


@pytest.fixture
def serving() -> Callable[[Log], AbstractContextManager[Deployment]]:
    """Serves a log for a while."""
    return over


@pytest.fixture
def deployment() -> Iterator[Deployment]:
    with over(MemoryLog()) as found:
        found.until(lambda: found.http.get("/readyz").status_code == 200)
        yield found


@pytest.fixture(scope="module")
def asked_deployment() -> Iterator[Deployment]:
    """A deployment that tests of a file share. Each registers the same pattern, which is there after the first, and asks."""
    with over(MemoryLog()) as found:
        found.until(lambda: found.http.get("/readyz").status_code == 200)
        yield found


@pytest.fixture(scope="session")
def empty_deployment() -> Iterator[Deployment]:
    """A deployment that tests of refused requests share: nothing is ever registered in it."""
    with over(MemoryLog()) as found:
        found.until(lambda: found.http.get("/readyz").status_code == 200)
        yield found
        assert found.registered() == []
