"""Delivers alerts to channels of Slack and Teams by their incoming webhooks.

Texts of matches come from outside, so none is read as markup: a match mentions nobody and makes no link. The URL of such a
webhook is itself a secret, so a target may have its end in the file of a secret.

Source: Slack, Sending messages using incoming webhooks; Microsoft, Adaptive Cards 1.4.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from graphtide_alerts.adapters.http_post import HttpPost
from graphtide_alerts.adapters.secret_file import read_secret
from graphtide_alerts.application.ports import UndeliveredError

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_core.outbound_addresses import AllowedAddresses, Resolve

    from graphtide_alerts.domain.alert import Alert

    Shape = Callable[[Alert], dict[str, Any]]
    """Returns the body of a message."""

MOST_TEXT: Final = 2_900
"""Characters of a text; Slack takes 3,000 in a block, and Teams 28 KB in a message."""

_PATH: Final = re.compile("[!-~]{1,1000}")


class Chat:
    """A `Sender` to a channel."""

    def __init__(
        self,
        url: str,
        shape: Shape,
        allowed: AllowedAddresses,
        secret: Callable[[], bytes] | None = None,
        *,
        resolve: Resolve | None = None,
        seconds: float = 10.0,
    ) -> None:
        """Send to a URL; `secret` reads what comes after it, at each attempt."""
        self._url = url
        self._shape = shape
        self._post = HttpPost(allowed, resolve=resolve, seconds=seconds)
        self._secret = secret

    def send(self, alert: Alert) -> None:
        """See `Sender`."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": alert.id}
        self._post.send(self._whole_url(), msgspec.json.encode(self._shape(alert)), headers)

    def close(self) -> None:
        """Do nothing: each attempt has a connection of its own."""

    def _whole_url(self) -> str:
        if self._secret is None:
            return self._url
        path = read_secret(self._secret).decode("utf-8", "replace")
        if _PATH.fullmatch(path) is None:
            message = "the file of the secret is not the end of a URL"
            raise UndeliveredError(message)
        return f"{self._url.rstrip('/')}/{path.lstrip('/')}"


def to_slack(alert: Alert) -> dict[str, Any]:
    """Return a message of Slack: a block of plain text, and the same escaped, for notifications."""
    text = _shorten(f"{_title(alert)}: {alert.content['message']}")
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {
        "text": escaped,
        "blocks": [{"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}],
    }


def to_teams(alert: Alert) -> dict[str, Any]:
    """Return a message of Teams: an Adaptive Card. Its runs of text have no markup, as its `TextBlock` would."""
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [_rich_text(_title(alert), weight="Bolder"), _rich_text(_shorten(alert.content["message"]))],
    }
    content = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [content]}


def _title(alert: Alert) -> str:
    name = alert.pattern or alert.content["target"]
    severity = alert.content.get("severity")
    kind = "" if alert.type in {"match", "sum"} else f" ({alert.type})"
    return f"{name}{kind}" if severity is None else f"[{severity}] {name}{kind}"


def _rich_text(text: str, **style: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}


def _shorten(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"
