"""An index gets each alert once, under its id; the status of the item says whether it did."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from graphtide_alerts.adapters.elasticsearch import SearchIndex
from graphtide_alerts.application.ports import UndeliverableError, UndeliveredError
from graphtide_alerts.domain.alert import Alert
from graphtide_core.outbound_addresses import AllowedAddresses
from graphtide_testing.webhook_receiver import Receiver, serve_receiver

if TYPE_CHECKING:
    from collections.abc import Iterator

ALERT = Alert("0a" * 16, "match", {"id": "0a" * 16, "message": "line\nfeed"}, "p", b"{}")
LOOPBACK = AllowedAddresses(["127.0.0.0/8"])


def answer(status: int, **item: object) -> bytes:
    return json.dumps(
        {"took": 1, "errors": status >= 300, "items": [{"create": {"_id": "x", "status": status, **item}}]}
    ).encode()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with serve_receiver(Receiver(lambda _request: 200, body=answer(201))) as found:
        yield found


def index(receiver: Receiver, secret: bytes = b"ApiKey abc") -> SearchIndex:
    return SearchIndex(f"http://127.0.0.1:{receiver.port}/alerts/", LOOPBACK, lambda: secret)


def test_a_document_has_the_id_of_the_alert(receiver: Receiver) -> None:
    index(receiver).send(ALERT)
    (request,) = receiver.accepted
    assert request.path == "/alerts/_bulk"
    assert request.headers["content-type"] == "application/x-ndjson"
    assert request.headers["authorization"] == "ApiKey abc"
    assert request.body.endswith(b"\n")
    assert [json.loads(line) for line in request.body.splitlines()] == [{"create": {"_id": ALERT.id}}, ALERT.content]


def test_a_document_that_is_there_already_is_delivered(receiver: Receiver) -> None:
    receiver.body = answer(409, error={"type": "version_conflict_engine_exception", "reason": "exists"})
    index(receiver).send(ALERT)
    assert len(receiver.accepted) == 1


def test_an_item_that_failed_is_tried_again_or_dead_by_its_own_status(receiver: Receiver) -> None:
    for status in (429, 503):
        receiver.body = answer(status, error={"type": "es_rejected_execution_exception"})
        with pytest.raises(UndeliveredError, match=str(status)):
            index(receiver).send(ALERT)
    receiver.body = answer(400, error={"type": "document_parsing_exception", "reason": "r"})
    with pytest.raises(UndeliverableError, match="400: document_parsing_exception"):
        index(receiver).send(ALERT)


@pytest.mark.parametrize("body", [b"", b"ok", b"[]", b'{"items":[]}', b'{"items":[{"create":{"status":"x"}}]}'])
def test_an_answer_of_something_else_delivers_nothing(receiver: Receiver, body: bytes) -> None:
    receiver.body = body
    with pytest.raises(UndeliveredError, match="bulk"):
        index(receiver).send(ALERT)


def test_a_status_of_the_request_counts_as_with_webhooks(receiver: Receiver) -> None:
    receiver.answer = lambda _request: 503
    with pytest.raises(UndeliveredError, match="503"):
        index(receiver).send(ALERT)
    receiver.answer = lambda _request: 401
    with pytest.raises(UndeliverableError, match="401"):
        index(receiver).send(ALERT)


def test_a_secret_of_two_lines_adds_no_header(receiver: Receiver) -> None:
    with pytest.raises(UndeliveredError, match="one line") as caught:
        index(receiver, b"ApiKey abc\r\nX-Other: hidden").send(ALERT)
    assert "hidden" not in str(caught.value)
    assert not receiver.requests
