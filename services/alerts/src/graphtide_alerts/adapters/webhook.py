"""Delivers alerts to a webhook: signed JSON by POST, to an address that was checked, without following redirects.

`Graphtide-Signature: t=SECONDS,v1=HEX` is the HMAC-SHA256 of `SECONDS.BODY` under the secret. `Idempotency-Key` is the alert's
id. A status of 2xx delivers; 408, 429 and 5xx may succeed later; any other never will.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import socket
import ssl
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.outbound_addresses import RefusedAddressError, check_host, parse_url

from graphtide_alerts.application.ports import UndeliverableError, UndeliveredError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphtide_core.outbound_addresses import Address, AllowedAddresses, Resolve, Target
    from graphtide_core.ports.clock import Clock

    from graphtide_alerts.domain.alert import Alert

_LATER: Final = frozenset({408, 425, 429})

MOST_ANSWER: Final = 64 * 1024
"""Bytes of an answer that are read; no more are needed than its status."""


class Webhook:
    """A `Sender` to a URL."""

    def __init__(
        self,
        url: str,
        allowed: AllowedAddresses,
        clock: Clock,
        secret: Callable[[], bytes] | None = None,
        *,
        resolve: Resolve | None = None,
        seconds: float = 10.0,
    ) -> None:
        """Send to a URL; `secret` reads the secret at each attempt. An attempt ends after so many seconds, whatever comes."""
        self._url = url
        self._allowed = allowed
        self._clock = clock
        self._secret = secret
        self._resolve = resolve or resolve_host
        self._seconds = seconds

    def send(self, alert: Alert) -> None:
        """See `Sender`."""
        try:
            target = parse_url(self._url)
            addresses = check_host(target.host, self._resolve, self._allowed)
        except RefusedAddressError as error:
            raise UndeliverableError(str(error)) from None
        except OSError as error:
            message = f"the host of the target cannot be looked up: {error.strerror or error}"
            raise UndeliveredError(message) from None
        body = msgspec.json.encode(alert.content)
        status = self._post(_Connection(target, addresses, self._seconds), target.path, body, self._headers(alert, body))
        if 200 <= status < 300:
            return
        message = f"the receiver answered {status}"
        if status in _LATER or status >= 500:
            raise UndeliveredError(message)
        if 300 <= status < 400:
            message += ", a redirect, which is not followed"
        raise UndeliverableError(message)

    def close(self) -> None:
        """Do nothing: each attempt has a connection of its own."""

    def _headers(self, alert: Alert, body: bytes) -> dict[str, str]:
        found = {
            "Content-Type": "application/json",
            "User-Agent": "graphtide-alerts",
            "Idempotency-Key": alert.id,
            "Connection": "close",
        }
        if self._secret is not None:
            try:
                secret = self._secret()
            except OSError as error:
                message = f"the file of the secret cannot be read: {error.strerror}"
                raise UndeliveredError(message) from None
            found["Graphtide-Signature"] = sign(secret, int(self._clock.now().timestamp()), body)
        return found

    def _post(self, connection: _Connection, path: str, body: bytes, headers: dict[str, str]) -> int:
        # A receiver that answers a byte at a time keeps each time-out of a socket; this ends the attempt.
        guard = threading.Timer(self._seconds, connection.cut)
        guard.daemon = True
        guard.start()
        try:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            answer.read(MOST_ANSWER)
        except ssl.SSLCertVerificationError as error:
            message = f"the certificate of the receiver does not hold: {error.verify_message}"
            raise UndeliveredError(message) from None
        except (OSError, http.client.HTTPException) as error:
            message = f"the receiver did not answer: {type(error).__name__}"
            raise UndeliveredError(message) from None
        else:
            return answer.status
        finally:
            guard.cancel()
            connection.close()


class _Connection(http.client.HTTPConnection):
    """A connection to addresses that were checked, for a host of another name."""

    def __init__(self, target: Target, addresses: Sequence[Address], seconds: float) -> None:
        super().__init__(target.host, target.port, timeout=seconds)
        self._addresses = addresses
        self._is_secure = target.scheme == "https"
        self._name = target.host

    def connect(self) -> None:
        """Connect to the first address that answers; with TLS check the certificate of the name."""
        self.sock = self._first()
        if self._is_secure:
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self._name)

    def _first(self) -> socket.socket:
        for address in self._addresses[:-1]:
            with suppress(OSError):
                return socket.create_connection((str(address), self.port), self.timeout)
        return socket.create_connection((str(self._addresses[-1]), self.port), self.timeout)

    def cut(self) -> None:
        """End the connection while another thread waits for it."""
        with suppress(OSError):
            if self.sock is not None:
                self.sock.shutdown(socket.SHUT_RDWR)


def sign(secret: bytes, seconds: int, body: bytes) -> str:
    """Return the value of `Graphtide-Signature` for a body that is sent at a time: seconds since 1970."""
    code = hmac.new(secret, b"%d." % seconds + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={code}"


def resolve_host(host: str) -> list[str]:
    """Return the addresses of a host, as the system knows them.

    Raises:
        OSError: it has none.
    """
    return [str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
