"""An attempt ends in its time, whatever a receiver does."""

from __future__ import annotations

import socket
import threading
import time
from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest
from graphtide_alerts.adapters.connecting import Deadline
from graphtide_alerts.adapters.mail import Mail
from graphtide_alerts.adapters.webhook import Webhook
from graphtide_alerts.application.ports import UndeliveredError
from graphtide_alerts.domain.alert import Alert
from graphtide_core.outbound_addresses import AllowedAddresses
from graphtide_serving.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_alerts.application.ports import Sender

ALERT = Alert("0a" * 16, "match", {"id": "0a" * 16, "message": "m"}, "p", b"{}")
LOOPBACK = AllowedAddresses(["127.0.0.0/8"])


def test_silent_addresses_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def connect(_address: tuple[str, int], seconds: float) -> socket.socket:
        asked.append(seconds)
        time.sleep(seconds)
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", connect)
    with Deadline(1.0) as deadline, pytest.raises(TimeoutError):
        deadline.connect([ip_address(f"192.0.2.{number}") for number in range(50)], 443)
    # Each gets some time, and all together no more than there is.
    assert len(asked) > 1
    assert all(0 < seconds < 0.5 for seconds in asked[:-1])
    assert sum(asked) <= 1.0


@pytest.fixture
def dripping() -> Iterator[int]:
    """Return the port of a server that begins a handshake, and sends a byte of it now and then for a quarter of an hour."""
    ended = threading.Event()

    def drip(client: socket.socket) -> None:
        with client:
            # A record of TLS with 16 KiB of a handshake.
            client.sendall(b"\x16\x03\x03\x40\x00")
            while not ended.wait(0.05):
                try:
                    client.sendall(b"\x00")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=lambda: drip(server.accept()[0]), daemon=True)
        thread.start()
        yield server.getsockname()[1]
        ended.set()
        thread.join()


@pytest.mark.parametrize("kind", ["https", "smtps"])
def test_a_handshake_that_takes_too_long_ends_the_attempt(dripping: int, kind: str) -> None:
    senders: dict[str, Sender] = {
        "https": Webhook(f"https://127.0.0.1:{dripping}/", LOOPBACK, SystemClock(), seconds=0.5),
        "smtps": Mail(f"smtps://127.0.0.1:{dripping}?from=a@b.c&to=d@e.f", LOOPBACK, SystemClock(), seconds=0.5),
    }
    with pytest.raises(UndeliveredError, match="did not answer"):
        senders[kind].send(ALERT)
