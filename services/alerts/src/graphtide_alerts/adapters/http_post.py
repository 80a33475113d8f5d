"""Posts to a URL that a user named: at an address that was checked, within a time, without following redirects.

A status of 2xx delivers; 408, 425, 429 and 5xx may succeed later; any other never will.
"""

from __future__ import annotations

import http.client
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.outbound_addresses import check_host, parse_url

from graphtide_alerts.adapters.connecting import Deadline, looking_up, resolve_host
from graphtide_alerts.application.ports import UndeliverableError, UndeliveredError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.outbound_addresses import Address, AllowedAddresses, Resolve, Target

_LATER: Final = frozenset({408, 425, 429})

MOST_ANSWER: Final = 64 * 1024
"""Bytes of an answer that are read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a receiver answered: a status, and at most `MOST_ANSWER` bytes of its body."""

    status: int
    body: bytes


class HttpPost:
    """Posts, each on a connection of its own. An attempt ends after so many seconds, whatever comes."""

    def __init__(self, allowed: AllowedAddresses, *, resolve: Resolve | None = None, seconds: float = 10.0) -> None:
        """Post to public and `allowed` addresses, as `resolve` looks them up."""
        self._allowed = allowed
        self._resolve = resolve or resolve_host
        self._seconds = seconds

    def send(self, url: str, body: bytes, headers: dict[str, str]) -> Answer:
        """Post a body, and return what is answered.

        Raises:
            UndeliveredError: the receiver did not answer, or may take it later.
            UndeliverableError: the address is refused, or the status is none that passes.
        """
        with looking_up():
            target = parse_url(url)
            addresses = check_host(target.host, self._resolve, self._allowed)
        given = {"User-Agent": "graphtide-alerts", "Connection": "close", **headers}
        with Deadline(self._seconds) as deadline:
            answer = _post(_Connection(target, addresses, deadline), target.path, body, given)
        refuse_status(answer.status)
        return answer


def _post(connection: _Connection, path: str, body: bytes, headers: dict[str, str]) -> Answer:
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return Answer(answer.status, answer.read(MOST_ANSWER))
    except ssl.SSLCertVerificationError as error:
        message = f"the certificate of the receiver does not hold: {error.verify_message}"
        raise UndeliveredError(message) from None
    except (OSError, http.client.HTTPException) as error:
        message = f"the receiver did not answer: {type(error).__name__}"
        raise UndeliveredError(message) from None
    finally:
        connection.close()


def refuse_status(status: int) -> None:
    """Do nothing for a status that delivers.

    Raises:
        UndeliveredError: it may be another later.
        UndeliverableError: it stays.
    """
    if 200 <= status < 300:
        return
    message = f"the receiver answered {status}"
    if status in _LATER or status >= 500:
        raise UndeliveredError(message)
    if 300 <= status < 400:
        message += ", a redirect, which is not followed"
    raise UndeliverableError(message)


class _Connection(http.client.HTTPConnection):
    """A connection to addresses that were checked, for a host of another name."""

    def __init__(self, target: Target, addresses: Sequence[Address], deadline: Deadline) -> None:
        super().__init__(target.host, target.port)
        self._addresses = addresses
        self._deadline = deadline
        self._is_secure = target.scheme == "https"
        self._name = target.host

    def connect(self) -> None:
        """Connect to the first address that answers; with TLS check the certificate of the name."""
        self.sock = self._deadline.connect(self._addresses, self.port)
        if self._is_secure:
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self._name)
