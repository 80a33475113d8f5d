"""Slack and Teams get messages in their shapes, in which no text of a match is markup."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from graphtide_alerts.adapters.chat import MOST_TEXT, Chat, to_slack, to_teams
from graphtide_alerts.application.ports import UndeliverableError, UndeliveredError
from graphtide_alerts.domain.alert import Alert
from graphtide_core.outbound_addresses import AllowedAddresses
from graphtide_testing.webhook_receiver import Receiver, serve_receiver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_alerts.adapters.chat import Shape

LOOPBACK = AllowedAddresses(["127.0.0.0/8"])
HOSTILE = "<!channel> & [click](https://evil.example)"


def alert(message: str = HOSTILE, **content: object) -> Alert:
    return Alert("0a" * 16, "match", {"id": "0a" * 16, "message": message, "target": "ops", "severity": "high", **content}, "p")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with serve_receiver(Receiver()) as found:
        yield found


def test_a_message_of_slack_is_plain_text_and_its_notification_is_escaped() -> None:
    body = to_slack(alert())
    (block,) = body["blocks"]
    assert block["text"] == {"type": "plain_text", "text": f"[high] p: {HOSTILE}", "emoji": False}
    assert body["text"] == "[high] p: &lt;!channel&gt; &amp; [click](https://evil.example)"


def test_a_message_of_teams_is_a_card_without_markup() -> None:
    (attachment,) = to_teams(alert())["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    body = attachment["content"]["body"]
    assert [each["type"] for each in body] == ["RichTextBlock", "RichTextBlock"]
    assert [run["text"] for each in body for run in each["inlines"]] == ["[high] p", HOSTILE]


@pytest.mark.parametrize("shape", [to_slack, to_teams])
def test_texts_are_bounded_and_a_sum_has_one(shape: Shape) -> None:
    body = json.dumps(shape(alert("x" * 100_000)), ensure_ascii=False)
    assert MOST_TEXT - 10 < body.count("x") <= 2 * MOST_TEXT
    total = Alert("sum-ops-1", "sum", {"id": "sum-ops-1", "message": "and 7 more", "target": "ops", "count": 7}, unsaid=7)
    text = json.dumps(shape(total))
    assert "and 7 more" in text
    assert "ops" in text


def test_a_secret_is_the_end_of_the_url_and_no_error_names_it(receiver: Receiver) -> None:
    url = f"http://127.0.0.1:{receiver.port}/services/"
    Chat(url, to_slack, LOOPBACK, lambda: b"T0/B0/hidden").send(alert())
    (request,) = receiver.accepted
    assert request.path == "/services/T0/B0/hidden"
    assert json.loads(request.body) == to_slack(alert())
    receiver.answer = lambda _request: 404
    with pytest.raises(UndeliverableError) as gone:
        Chat(url, to_slack, LOOPBACK, lambda: b"T0/B0/hidden").send(alert())
    with pytest.raises(UndeliveredError) as malformed:
        Chat(url, to_slack, LOOPBACK, lambda: b"hidden \n").send(alert())
    for caught in (gone, malformed):
        assert "hidden" not in str(caught.value)


def test_an_address_within_is_refused(receiver: Receiver) -> None:
    with pytest.raises(UndeliverableError, match="ALLOWED_ADDRESSES"):
        Chat(receiver.url, to_teams, AllowedAddresses()).send(alert())
    assert not receiver.requests
