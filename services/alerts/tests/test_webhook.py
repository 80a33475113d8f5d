"""A webhook gets signed JSON at an address that was checked; what it answers says whether another attempt may succeed."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
from typing import TYPE_CHECKING

import pytest
from graphtide_alerts.adapters.webhook import Webhook, sign
from graphtide_alerts.application.ports import UndeliverableError, UndeliveredError
from graphtide_alerts.domain.alert import Alert
from graphtide_core.outbound_addresses import AllowedAddresses
from graphtide_serving.clock import SystemClock
from graphtide_testing.webhook_receiver import Receiver, serve_receiver

if TYPE_CHECKING:
    from collections.abc import Iterator

ALERT = Alert("0a" * 16, "match", {"id": "0a" * 16, "message": "é"}, "p", b"{}")
LOOPBACK = AllowedAddresses(["127.0.0.0/8"])


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with serve_receiver(Receiver()) as found:
        yield found


def webhook(url: str, allowed: AllowedAddresses = LOOPBACK, seconds: float = 10.0) -> Webhook:
    return Webhook(url, allowed, SystemClock(), lambda: b"a secret", seconds=seconds)


def test_an_alert_is_sent_as_signed_json_under_its_id(receiver: Receiver) -> None:
    webhook(receiver.url).send(ALERT)
    (request,) = receiver.accepted
    assert request.path == "/hook?a=1"
    assert json.loads(request.body) == ALERT.content
    assert request.headers["idempotency-key"] == ALERT.id
    assert request.headers["host"] == f"127.0.0.1:{receiver.port}"
    stated = dict(each.split("=", 1) for each in request.headers["graphtide-signature"].split(","))
    code = hmac.new(b"a secret", stated["t"].encode() + b"." + request.body, hashlib.sha256).hexdigest()
    assert stated["v1"] == code
    assert sign(b"a secret", int(stated["t"]), request.body) == request.headers["graphtide-signature"]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503])
def test_a_status_that_may_pass_is_tried_again(receiver: Receiver, status: int) -> None:
    receiver.answer = lambda _request: status
    with pytest.raises(UndeliveredError, match=str(status)):
        webhook(receiver.url).send(ALERT)


@pytest.mark.parametrize("status", [400, 401, 404, 410, 422])
def test_a_status_that_stays_is_final(receiver: Receiver, status: int) -> None:
    receiver.answer = lambda _request: status
    with pytest.raises(UndeliverableError, match=str(status)):
        webhook(receiver.url).send(ALERT)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(receiver: Receiver, status: int) -> None:
    with serve_receiver(Receiver()) as elsewhere:
        receiver.location = elsewhere.url
        receiver.answer = lambda _request: status
        with pytest.raises(UndeliverableError, match="not followed"):
            webhook(receiver.url).send(ALERT)
        assert not elsewhere.requests
    assert len(receiver.requests) == 1


def test_a_connection_that_breaks_is_tried_again(receiver: Receiver) -> None:
    receiver.answer = lambda _request: None
    with pytest.raises(UndeliveredError, match="did not answer"):
        webhook(receiver.url).send(ALERT)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        with pytest.raises(UndeliveredError, match="did not answer"):
            webhook(f"http://127.0.0.1:{port}/").send(ALERT)


def test_an_answer_that_never_ends_ends_the_attempt() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = threading.Event()

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                while not done.wait(0.05):
                    try:
                        connection.sendall(b"H")
                    except OSError:
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        with pytest.raises(UndeliveredError):
            webhook(f"http://127.0.0.1:{server.getsockname()[1]}/", seconds=1.0).send(ALERT)
        done.set()
        thread.join()


def test_an_address_that_is_not_allowed_is_not_connected_to(receiver: Receiver) -> None:
    for url in (receiver.url, f"http://localhost:{receiver.port}/", f"http://[::ffff:127.0.0.1]:{receiver.port}/"):
        with pytest.raises(UndeliverableError, match="ALLOWED_ADDRESSES"):
            webhook(url, AllowedAddresses()).send(ALERT)
    for url in (
        f"http://2130706433:{receiver.port}/",
        f"http://0x7f.1:{receiver.port}/",
        f"http://a@127.0.0.1:{receiver.port}/",
    ):
        with pytest.raises(UndeliverableError):
            webhook(url).send(ALERT)
    assert not receiver.requests


def test_the_name_is_looked_up_once_an_attempt_and_the_checked_address_is_used(receiver: Receiver) -> None:
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])
    sender = Webhook(f"http://hooks.example.com:{receiver.port}/", LOOPBACK, SystemClock(), resolve=lambda _host: next(answers))
    sender.send(ALERT)
    assert receiver.accepted[0].headers["host"] == f"hooks.example.com:{receiver.port}"
    assert "graphtide-signature" not in receiver.accepted[0].headers
    with pytest.raises(UndeliverableError, match=r"169\.254\.169\.254"):
        sender.send(ALERT)
    assert len(receiver.requests) == 1


def test_a_name_without_an_address_is_tried_again() -> None:
    def resolve(_host: str) -> list[str]:
        message = "no such host"
        raise OSError(message)

    with pytest.raises(UndeliveredError, match="looked up"):
        Webhook("https://hooks.example.com/", LOOPBACK, SystemClock(), resolve=resolve).send(ALERT)


def test_a_secret_that_cannot_be_read_is_named_without_its_path() -> None:
    def secret() -> bytes:
        raise FileNotFoundError(2, "No such file or directory", "/secrets/key")

    with pytest.raises(UndeliveredError, match="the file of the secret") as caught:
        Webhook("http://127.0.0.1:1/", LOOPBACK, SystemClock(), secret).send(ALERT)
    assert "/secrets" not in str(caught.value)
