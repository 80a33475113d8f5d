"""Delivers alerts to a webhook: signed JSON by POST.

`Graphtide-Signature: t=SECONDS,v1=HEX` is the HMAC-SHA256 of `SECONDS.BODY` under the secret. `Idempotency-Key` is the
alert's id.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

import msgspec

from graphtide_alerts.adapters.http_post import HttpPost
from graphtide_alerts.adapters.secret_file import read_secret

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.outbound_addresses import AllowedAddresses, Resolve
    from graphtide_core.ports.clock import Clock

    from graphtide_alerts.domain.alert import Alert


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
        self._post = HttpPost(allowed, resolve=resolve, seconds=seconds)
        self._clock = clock
        self._secret = secret

    def send(self, alert: Alert) -> None:
        """See `Sender`."""
        body = msgspec.json.encode(alert.content)
        headers = {"Content-Type": "application/json", "Idempotency-Key": alert.id}
        if self._secret is not None:
            secret = read_secret(self._secret)
            headers["Graphtide-Signature"] = sign(secret, int(self._clock.now().timestamp()), body)
        self._post.send(self._url, body, headers)

    def close(self) -> None:
        """Do nothing: each attempt has a connection of its own."""


def sign(secret: bytes, seconds: int, body: bytes) -> str:
    """Return the value of `Graphtide-Signature` for a body that is sent at a time: seconds since 1970."""
    code = hmac.new(secret, b"%d." % seconds + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={code}"
