"""The changes of a plan are shown with their reasons."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from graphtide_wire.plan_changes import MOST_CHANGES, PlanChangeRecord, change_key, encode_change
from graphtide_wire.plans import CountedPartForm
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from conftest import Deployment

AT = datetime(2024, 1, 1, tzinfo=UTC)
TOPIC = Topics().plan_changes
TEXT = "PATTERN p MATCH (a)-[x:pays]->(b) ON s WINDOW 10"
HISTORY = "/api/v1/patterns/p/plan/history"


def change(epoch: int, name: str = "p", stream: str | None = "s") -> PlanChangeRecord:
    evidence = (CountedPartForm(("x",), 0.5, 12.0),) if epoch % 2 else ()
    at = AT + timedelta(seconds=epoch)
    return PlanChangeRecord(
        name, 1, epoch, at, stream, "timing", "matcher_timing", 0, "running", f"reason {epoch}", 2.5, 1.5, evidence
    )


def write(deployment: Deployment, record: PlanChangeRecord) -> None:
    deployment.write(TOPIC, change_key(record.name, record.epoch), encode_change(record))


def test_the_newest_changes_come_first(deployment: Deployment) -> None:
    assert deployment.http.get(HISTORY).status_code == 404
    deployment.http.post("/api/v1/patterns", json={"text": TEXT}).raise_for_status()
    assert deployment.http.get(HISTORY).json() == {"changes": []}
    for epoch in range(1, 31):
        write(deployment, change(epoch))
    write(deployment, change(40, "other"))
    deployment.write(TOPIC, b"p@3", b"no record")
    shown = deployment.http.get(HISTORY).json()["changes"]
    assert [each["epoch"] for each in shown] == [epoch for epoch in range(30, 30 - MOST_CHANGES, -1) if epoch != 23]
    assert shown[1] == {
        "version": 1,
        "epoch": 29,
        "part": None,
        "at": "2024-01-01T00:00:29Z",
        "engine": "timing",
        "service": "matcher_timing",
        "shard": 0,
        "desired": "running",
        "reason": "reason 29",
        "nanoseconds": 2.5,
        "partial_matches": 1.5,
        "evidence": [{"edges": ["x"], "estimated": 0.5, "counted": 12.0}],
    }


def test_changes_of_parts_are_among_those_of_the_pattern(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT}).raise_for_status()
    for number in (1, 0):
        write(deployment, change(2 - number, f"p#{number}/2"))
    assert [each["part"] for each in deployment.http.get(HISTORY).json()["changes"]] == [0, 1]


def test_changes_for_another_stream_are_of_those_who_may_read_it(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT}).raise_for_status()
    for epoch, stream in enumerate(["veiled", "s", None], start=1):
        write(deployment, change(epoch, stream=stream))
    narrow = deployment.http.get(HISTORY, headers={"X-API-Key": "of s"})
    assert [each["epoch"] for each in narrow.json()["changes"]] == [2]
    assert len(deployment.http.get(HISTORY).json()["changes"]) == 3
