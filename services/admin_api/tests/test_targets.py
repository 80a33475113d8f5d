"""Targets of alerts are made, replaced and deleted over HTTP; no address behind the deployment is one."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_admin_api.application import targets
from graphtide_admin_api.application.alert_requests import AlertRequests
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_log.follower import Follower
from graphtide_serving.clock import SystemClock
from graphtide_wire.targets import (
    AlertAnswer,
    AlertCounts,
    AlertRequest,
    DeadAlert,
    decode_request,
    decode_target,
    encode_answer,
    encode_counts,
    encode_dead_alert,
)
from graphtide_wire.topics import Topics
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Deployment

TOPICS = Topics()
AT = datetime(2024, 1, 1, tzinfo=UTC)
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


def test_a_target_may_be_mail(deployment: Deployment) -> None:
    mail = HOOK | {"kind": "email", "address": "smtp://93.184.215.14?from=a@b.example&to=c@d.example"}
    assert deployment.http.put(PATH, json=mail).status_code == 201
    assert deployment.http.get(PATH).json()["address"] == mail["address"]


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
        {"kind": "email", "address": "https://93.184.215.14/"},
        {"kind": "email", "address": "smtp://127.0.0.1?from=a@b.example&to=c@d.example"},
        {"kind": "email", "address": "smtp://93.184.215.14?from=a@b.example&to=c@d.example&tls=none"},
    ],
)
def test_a_target_that_cannot_be_is_refused(empty_deployment: Deployment, given: dict[str, str]) -> None:
    answer = empty_deployment.http.put(PATH, json=HOOK | given)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-target")
    assert not read_written(empty_deployment)


@pytest.mark.parametrize(
    "given", [{"secret": "../key"}, {"kind": "pager"}, {"rate": 0}, {"severity": "HIGH"}, {"colour": "red"}]
)
def test_a_target_that_is_not_as_described_is_refused(empty_deployment: Deployment, given: dict[str, Any]) -> None:
    answer = empty_deployment.http.put(PATH, json=HOOK | given)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")


def test_there_are_only_so_many_targets(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "MOST_TARGETS", 1)
    assert deployment.http.put(PATH, json=HOOK).status_code == 201
    assert deployment.http.put("/api/v1/targets/other", json=HOOK).json()["code"] == "too-many-targets"
    assert deployment.http.put(PATH, json=HOOK | {"kind": "file", "address": "alerts.jsonl"}).status_code == 200


def dead(number: int, target: str = "ops", **given: Any) -> DeadAlert:
    usual: dict[str, Any] = {"reason": "it answered 400", "attempts": 1, "at": AT, "pattern": "p", "match": '{"query":"p"}'}
    return DeadAlert(target=target, id=f"{number:032x}", **usual | given)


def bury(deployment: Deployment, *letters: DeadAlert) -> None:
    for each in letters:
        message = encode_dead_alert(TOPICS.dead_alerts, each)
        deployment.write(message.topic, message.key, message.value)


@contextmanager
def answering(deployment: Deployment, answer: Callable[[AlertRequest], AlertAnswer | None]) -> Iterator[list[AlertRequest]]:
    """Answer requests in place of the service that delivers, while the block runs."""
    seen: list[AlertRequest] = []
    ended = Event()
    follower = Follower(deployment.log, TOPICS.alert_requests)

    def work() -> None:
        while not ended.wait(0.01):
            for record in follower.poll():
                seen.append(decode_request(record))
                found = answer(seen[-1])
                if found is not None:
                    message = encode_answer(TOPICS.alert_answers, found)
                    deployment.write(message.topic, message.key, message.value)

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()
        follower.close()


def answer_of(request: AlertRequest, outcome: Any = "delivered", reason: str | None = None) -> AlertAnswer:
    id = f"test-{request.id}" if request.dead is None else request.dead.id
    return AlertAnswer(id=request.id, target=request.target, alert=id, outcome=outcome, reason=reason)


def test_dead_alerts_are_shown_page_by_page_with_the_newest_first(deployment: Deployment) -> None:
    deployment.http.put(PATH, json=HOOK)
    assert deployment.http.get(f"{PATH}/dead").json() == {"dead": [], "next": None}
    bury(deployment, dead(0), dead(1, "others"), dead(2), dead(3, pattern=None, match=None, unsaid=7))
    first = deployment.http.get(f"{PATH}/dead?limit=2").json()
    assert [each["id"] for each in first["dead"]] == [f"{number:032x}" for number in (3, 2)]
    assert (first["dead"][0]["match"], first["dead"][0]["unsaid"]) == (None, 7)
    second = deployment.http.get(f"{PATH}/dead?limit=2&cursor={first['next']}").json()
    assert second["dead"] == [
        {
            "id": f"{0:032x}",
            "pattern": "p",
            "reason": "it answered 400",
            "attempts": 1,
            "at": "2024-01-01T00:00:00Z",
            "unsaid": 0,
            "match": {"query": "p"},
        }
    ]
    assert deployment.http.get("/api/v1/targets/others/dead").json()["code"] == "not-found"


def test_a_sample_is_asked_of_the_service_that_delivers(deployment: Deployment) -> None:
    deployment.http.put(PATH, json=HOOK)
    with answering(deployment, lambda request: answer_of(request, "refused", "the receiver answered 404")) as seen:
        found = deployment.http.post(f"{PATH}:test")
    (request,) = seen
    assert (request.target, request.dead) == ("ops", None)
    assert (found.status_code, found.json()) == (
        200,
        {"id": f"test-{request.id}", "outcome": "refused", "reason": "the receiver answered 404"},
    )
    assert deployment.http.post("/api/v1/targets/others:test").json()["code"] == "not-found"


def test_nobody_who_delivers_is_a_problem(deployment: Deployment) -> None:
    with pytest.raises(ProblemError, match="graphtide-alerts did not answer"):
        AlertRequests(deployment.log, TOPICS, SystemClock(), 0.3).test("ops")


def test_dead_alerts_are_sent_again_each_once(deployment: Deployment) -> None:
    deployment.http.put(PATH, json=HOOK)
    bury(deployment, dead(0), dead(1), dead(1), dead(2), dead(3, "others"))
    ids = [f"{number:032x}" for number in (2, 1, 1)]
    with answering(deployment, answer_of) as seen:
        found = deployment.http.post(f"{PATH}/dead:replay", json={"ids": ids})
        assert found.json() == {"results": [{"id": id, "outcome": "delivered", "reason": None} for id in ids[:2]]}
        assert [each.dead for each in seen] == [dead(2), dead(1)]
        unknown = deployment.http.post(f"{PATH}/dead:replay", json={"ids": [ids[0], f"{3:032x}"]})
        assert (unknown.status_code, unknown.json()["code"]) == (404, "not-found")
        assert len(seen) == 2
    for wrong in ([], ["x"] * 101):
        assert deployment.http.post(f"{PATH}/dead:replay", json={"ids": wrong}).status_code == 422


def test_what_nobody_answers_in_time_is_said_of_each(deployment: Deployment) -> None:
    bury(deployment, dead(0), dead(1))
    requests = AlertRequests(deployment.log, TOPICS, SystemClock(), 1.0)
    with answering(deployment, lambda request: answer_of(request) if request.dead == dead(1) else None):
        found = requests.replay("ops", [f"{0:032x}", f"{1:032x}"])
    assert [(id, answer and answer.outcome) for id, answer in found] == [(f"{0:032x}", None), (f"{1:032x}", "delivered")]
