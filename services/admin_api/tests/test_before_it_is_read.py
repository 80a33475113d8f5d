"""Before the API has read what there is, it says so: nothing counts as absent that may be there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import TransientError
from graphtide_log.memory import MemoryLog
from graphtide_log.memory.reader import MemoryReader
from graphtide_testing.telemetry import count_metrics
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from graphtide_core.ports.log import Log, LogReader, Record, TopicPartition

    from conftest import Deployment

    Serving = Callable[[Log], AbstractContextManager[Deployment]]

TOPICS = Topics()
PATTERN = {"text": "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10"}


class Withholding(MemoryLog):
    """A log in memory that withholds the records of some topics as long as it is set to."""

    def __init__(self) -> None:
        super().__init__()
        self.withheld: set[str] = set()

    def reader(self, group: str | None) -> LogReader:
        return _Reader(self, group)


class _Reader(MemoryReader):
    def __init__(self, log: Withholding, group: str | None) -> None:
        super().__init__(log._state, group)  # noqa: SLF001 - it is a reader of this very log
        self._log = log
        self._topics: set[str] = set()

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        self._topics = {place.topic for place in positions}
        super().assign(positions)

    def poll(self, timeout: float, most: int) -> list[Record]:
        if self._topics & self._log.withheld:
            message = "the log does not answer"
            raise TransientError(message)
        return super().poll(timeout, most)


@pytest.fixture
def log(serving: Serving) -> Withholding:
    """A log that holds a pattern, and one match of it."""
    log = Withholding()
    with serving(log) as before:
        before.until(lambda: before.http.get("/readyz").status_code == 200)
        assert before.http.post("/api/v1/patterns", json=PATTERN).status_code == 201
        before.report(1)
    return log


ASKED = [
    ("GET", "/patterns", None),
    ("POST", "/patterns", PATTERN),
    ("GET", "/patterns/p", None),
    ("PUT", "/patterns/p", PATTERN),
    ("PATCH", "/patterns/p", {"engine": "timing"}),
    ("DELETE", "/patterns/p", None),
    ("POST", "/patterns/p:pause", None),
    ("POST", "/patterns/p:resume", None),
    ("POST", "/patterns/p:backfill", {}),
    ("GET", "/patterns/p/plan", None),
    ("GET", "/patterns/p/statistics", None),
    ("GET", "/patterns/p/matches", None),
    ("GET", "/patterns/p/matches:stream", None),
    ("GET", "/streams", None),
    ("GET", "/streams/s", None),
    ("GET", "/statistics/s", None),
]


@pytest.mark.parametrize("topic", [TOPICS.patterns, TOPICS.plans, TOPICS.status, TOPICS.statistics])
def test_what_may_be_registered_is_not_denied_before_all_is_read(serving: Serving, log: Withholding, topic: str) -> None:
    count_metrics()
    log.withheld = {topic}
    with serving(log) as api:
        for method, path, body in ASKED:
            answer = api.http.request(method, f"/api/v1{path}", json=body, headers={"If-Match": "*"})
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable"), (method, path)
            assert int(answer.headers["Retry-After"]) > 0
        assert api.http.get("/readyz").json()["checks"]["registrations"] == "what is registered is being read"
        assert "graphtide_patterns{" not in api.http.get("/metrics").text
        log.withheld = set()
        api.until(lambda: api.http.get("/api/v1/patterns/p").status_code == 200)
        assert api.http.patch("/api/v1/patterns/p", json={"engine": "timing"}, headers={"If-Match": "*"}).status_code == 200


def test_matches_that_may_be_there_are_not_denied_before_they_are_read(serving: Serving, log: Withholding) -> None:
    log.withheld = {TOPICS.matches}
    with serving(log) as api:
        api.until(lambda: api.http.get("/api/v1/patterns/p").status_code == 200)
        for path in ("matches", "matches:stream"):
            assert api.http.get(f"/api/v1/patterns/p/{path}").status_code == 503
        log.withheld = set()
        api.until(lambda: api.http.get("/api/v1/patterns/p/matches").status_code == 200)
        assert [each["place"] for each in api.http.get("/api/v1/patterns/p/matches").json()["matches"]] == ["0-0"]


@pytest.mark.parametrize("topic", [TOPICS.patterns, TOPICS.matches])
def test_what_was_read_is_shown_while_it_is_read_anew(serving: Serving, log: Withholding, topic: str) -> None:
    with serving(log) as api:
        api.until(lambda: api.http.get("/readyz").status_code == 200)
        log.withheld = {topic}
        api.until(lambda: api.http.get("/readyz").status_code == 503)
        for _ in range(20):
            assert [each["name"] for each in api.http.get("/api/v1/patterns").json()["patterns"]] == ["p"]
            assert len(api.http.get("/api/v1/patterns/p/matches").json()["matches"]) == 1
        log.withheld = set()
        api.until(lambda: api.http.get("/readyz").status_code == 200)
        api.report(2)
        api.until(lambda: len(api.http.get("/api/v1/patterns/p/matches").json()["matches"]) == 2)
