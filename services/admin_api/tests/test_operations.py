"""Backfills are requested, shown as their service reports them, and cancelled."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import pytest
from graphtide_core.ports.log import TopicPartition
from graphtide_wire import operations
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from conftest import Deployment

    State = Literal["running", "done", "failed", "cancelled"]

TEXT = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10"
TOPICS = Topics()
AT = datetime(2024, 1, 2, tzinfo=UTC)


@pytest.fixture
def asked(deployment: Deployment) -> str:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT}).raise_for_status()
    answer = deployment.http.post("/api/v1/patterns/p:backfill", json={"from": 100, "to": 200, "engine": "timing"})
    assert answer.status_code == 202
    id: str = answer.json()["id"]
    assert answer.headers["Location"] == f"/api/v1/operations/{id}"
    return id


def say(deployment: Deployment, id: str, state: State) -> None:
    """Say how far an operation is, as the service that does it would."""
    status = operations.OperationStatus(id, state, AT, 3, 12, 4_000, 17, 250.5, "no room" if state == "failed" else None)
    deployment.write(TOPICS.operations, operations.status_key(id), operations.encode_status(status))


def read_operations(deployment: Deployment) -> list[operations.OperationRecord]:
    reader = deployment.log.reader(None)
    reader.assign({TopicPartition(TOPICS.operations, 0): 0})
    records = [each for each in reader.poll(0, 1_000) if not operations.is_status(each.key or b"")]
    return [operations.decode_operation(each.value) for each in records]


def test_what_is_asked_for_is_written_whole(deployment: Deployment, asked: str) -> None:
    (record,) = read_operations(deployment)
    assert (record.id, record.pattern, record.version, record.text, record.stream) == (asked, "p", 1, TEXT, "s")
    assert (record.start, record.end, record.engine, record.desired) == (100, 200, "timing", "done")


def test_an_operation_is_shown_as_it_was_reported(deployment: Deployment, asked: str) -> None:
    assert deployment.http.get(f"/api/v1/operations/{asked}").json()["state"] == "queued"
    say(deployment, asked, "running")
    shown = deployment.http.get(f"/api/v1/operations/{asked}").json()
    assert (shown["state"], shown["slices_done"], shown["slices"], shown["matches"]) == ("running", 3, 12, 17)
    say(deployment, asked, "failed")
    shown = deployment.http.get(f"/api/v1/operations/{asked}").json()
    assert (shown["state"], shown["reason"]) == ("failed", "no room")
    assert [each["id"] for each in deployment.http.get("/api/v1/operations").json()["operations"]] == [asked]


def test_an_operation_that_runs_is_cancelled(deployment: Deployment, asked: str) -> None:
    say(deployment, asked, "running")
    assert deployment.http.delete(f"/api/v1/operations/{asked}").json()["state"] == "cancelling"
    assert read_operations(deployment)[-1].desired == "cancelled"
    say(deployment, asked, "cancelled")
    assert deployment.http.get(f"/api/v1/operations/{asked}").json()["state"] == "cancelled"


def test_an_operation_that_has_ended_stays_as_it_is(deployment: Deployment, asked: str) -> None:
    say(deployment, asked, "done")
    assert deployment.http.delete(f"/api/v1/operations/{asked}").json()["state"] == "done"
    assert len(read_operations(deployment)) == 1


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/v1/patterns/none:backfill", {}, 404),
        ("/api/v1/patterns/p:backfill", {"from": 5, "to": 5}, 422),
        ("/api/v1/patterns/p:backfill", {"engine": "magic"}, 422),
        ("/api/v1/patterns/p:backfill", {"since": 5}, 422),
    ],
)
def test_what_cannot_be_is_refused(deployment: Deployment, asked: str, path: str, body: dict[str, object], status: int) -> None:
    assert deployment.http.post(path, json=body).status_code == status
    assert len(read_operations(deployment)) == 1


def test_no_operation_is_not_found(deployment: Deployment) -> None:
    assert deployment.http.get("/api/v1/operations/none").status_code == 404
    assert deployment.http.delete("/api/v1/operations/none").status_code == 404
