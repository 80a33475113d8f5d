"""Writes alerts to an index of Elasticsearch or OpenSearch, each once: its document has the alert's id.

A request of the bulk API answers 200 although an item failed, so the item's own status decides. 409 says that the document is
there already, from an attempt whose answer was lost.

Source: Elasticsearch, Bulk API; `create` is what data streams take, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from graphtide_alerts.adapters.http_post import HttpPost, refuse_status
from graphtide_alerts.adapters.secret_file import read_secret
from graphtide_alerts.application.ports import UndeliverableError, UndeliveredError

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.outbound_addresses import AllowedAddresses, Resolve

    from graphtide_alerts.domain.alert import Alert


class _Failure(msgspec.Struct):
    type: str = "unknown"


class _Item(msgspec.Struct):
    status: int
    error: _Failure = msgspec.field(default_factory=_Failure)


class _Bulk(msgspec.Struct):
    items: list[dict[str, _Item]]


class SearchIndex:
    """A `Sender` to an index."""

    def __init__(
        self,
        url: str,
        allowed: AllowedAddresses,
        secret: Callable[[], bytes] | None = None,
        *,
        resolve: Resolve | None = None,
        seconds: float = 10.0,
    ) -> None:
        """Write to the index at a URL, `https://host:9200/index`; `secret` reads the value of `Authorization`."""
        self._url = f"{url.rstrip('/')}/_bulk"
        self._post = HttpPost(allowed, resolve=resolve, seconds=seconds)
        self._secret = secret

    def send(self, alert: Alert) -> None:
        """See `Sender`."""
        body = b"\n".join(msgspec.json.encode(each) for each in ({"create": {"_id": alert.id}}, alert.content)) + b"\n"
        answer = self._post.send(self._url, body, self._headers())
        item = _read_item(answer.body)
        if item.status == 409:
            return
        try:
            refuse_status(item.status)
        except UndeliverableError:
            message = f"the index refused the document with {item.status}: {item.error.type[:100]}"
            raise UndeliverableError(message) from None

    def close(self) -> None:
        """Do nothing: each attempt has a connection of its own."""

    def _headers(self) -> dict[str, str]:
        found = {"Content-Type": "application/x-ndjson"}
        if self._secret is not None:
            value = read_secret(self._secret).decode("ascii", "replace")
            if not value.isprintable():
                message = "the file of the secret is not one line, the value of Authorization"
                raise UndeliveredError(message)
            found["Authorization"] = value
        return found


def _read_item(body: bytes) -> _Item:
    try:
        found: list[Any] = [each for items in msgspec.json.decode(body, type=_Bulk).items for each in items.values()]
    except msgspec.DecodeError:
        found = []
    if len(found) != 1 or not isinstance(found[0], _Item):
        message = "the receiver did not answer as the bulk API of Elasticsearch does"
        raise UndeliveredError(message)
    return found[0]
