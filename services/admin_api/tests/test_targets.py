"""Targets of alerts are made, replaced and deleted over HTTP; no address behind the deployment is one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_admin_api.application import targets
from graphtide_wire.targets import AlertCounts, decode_target, encode_counts
from graphtide_wire.topics import Topics
from msgspec.structs import replace

if TYPE_CHECKING:
    from conftest import Deployment

TOPICS = Topics()
PATH = "/api/v1/targets/ops"
HOOK = {"kind": "webhook", "address": "https://93.184.215.14/hook", "severity": "high", "rate": 60, "secret": "ops.key"}


def read_written(deployment: Deployment) -> list[Any]:
    reader = deployment.log.reader(None)
    reader.assign(dict.fromkeys(reader.partitions(TOPICS.targets), 0))
    return [decode_target(each) if each.value is not None else None for each in reader.poll(0, 1000)]


def test_a_target_is_made_replaced_and_deleted(deployment: Deployment) -> None:
    deployment.write(TOPICS.matches, b"p", b"one before it")
    made = deployment.http.put(PATH, json=HOOK)
    assert (made.status_code, made.json()["name"], made.json()["patterns"]) == (201, "ops", "*")
    assert deployment.http.get(PATH).json() == made.json()
    deployment.write(TOPICS.matches, b"p", b"one after it")
    again = deployment.http.put(PATH, json=HOOK | {"rate": None})
    assert (again.status_code, again.json()) == (200, made.json() | {"rate": None})
    assert [each.starts for each in read_written(deployment)] == [(1,), (1,)]
    assert deployment.http.get("/api/v1/targets").json() == {"targets": [again.json()]}
    assert deployment.http.delete(PATH).status_code == 204
    assert deployment.http.get(PATH).json()["code"] == "not-found"
    assert deployment.http.delete(PATH).status_code == 404
    assert deployment.http.get("/api/v1/targets").json() == {"targets": []}


def test_a_target_is_shown_with_its_counts(deployment: Deployment) -> None:
    made = deployment.http.put(PATH, json=HOOK)
    assert made.json()["counts"] is None
    at = datetime.fromisoformat(made.json()["created_at"])
    counts = AlertCounts(target="ops", created_at=at, accepted=9, delivered=5, dead=1, muted=2, summed=1, retried=4)
    of_another = replace(counts, created_at=at - timedelta(1), accepted=100)
    for each, is_shown in ((counts, True), (of_another, False)):
        message = encode_counts(TOPICS.alert_counts, each)
        deployment.write(message.topic, message.key, message.value)
        shown = {"accepted": 9, "delivered": 5, "dead": 1, "muted": 2, "summed": 1, "retried": 4}
        assert deployment.http.get(PATH).json()["counts"] == (shown if is_shown else None)


@pytest.mark.parametrize(
    "given",
    [
        {"address": "http://127.0.0.1/"},
        {"address": "http://[::ffff:169.254.169.254]/"},
        {"address": "http://2130706433/"},
        {"address": "http://kafka.graphtide.svc/"},
        {"address": "http://user@93.184.215.14/"},
        {"address": "ftp://93.184.215.14/"},
        {"address": "https://no-such-host.invalid/"},
        {"template": "{"},
        {"kind": "file", "address": "../passwd"},
    ],
)
def test_a_target_that_cannot_be_is_refused(deployment: Deployment, given: dict[str, str]) -> None:
    answer = deployment.http.put(PATH, json=HOOK | given)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-target")
    assert not read_written(deployment)


@pytest.mark.parametrize(
    "given", [{"secret": "../key"}, {"kind": "pager"}, {"rate": 0}, {"severity": "HIGH"}, {"colour": "red"}]
)
def test_a_target_that_is_not_as_described_is_refused(deployment: Deployment, given: dict[str, Any]) -> None:
    answer = deployment.http.put(PATH, json=HOOK | given)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")


def test_there_are_only_so_many_targets(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "MOST_TARGETS", 1)
    assert deployment.http.put(PATH, json=HOOK).status_code == 201
    assert deployment.http.put("/api/v1/targets/other", json=HOOK).json()["code"] == "too-many-targets"
    assert deployment.http.put(PATH, json=HOOK | {"kind": "file", "address": "alerts.jsonl"}).status_code == 200
