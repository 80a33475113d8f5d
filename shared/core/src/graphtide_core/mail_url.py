"""URLs of mail: which server sends, from whom and to whom.

`smtp://mail.example.com:587?from=graphtide@example.com&to=on-call@example.com`, with `to` as often as there are recipients.
`smtp` asks for TLS after the greeting (STARTTLS), `smtps` begins with it; `tls=none` goes without.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from graphtide_core.outbound_addresses import RefusedAddressError, Target, parse_url
from graphtide_core.suggestion import show

MOST_RECIPIENTS: Final = 20

_MAILBOX: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*")
_MEMBERS: Final = frozenset({"from", "to", "tls"})


@dataclass(frozen=True, slots=True)
class MailUrl:
    """Where mail goes.

    Attributes:
        server: that takes it.
        sender: the mailbox that it is from.
        recipients: the mailboxes that it is to, each once.
        is_plain: whether it goes without TLS.
    """

    server: Target
    sender: str
    recipients: tuple[str, ...]
    is_plain: bool = False


def parse_mail_url(text: str) -> MailUrl:
    """Return where the mail of a URL goes.

    Raises:
        RefusedAddressError: it is no such URL, or it has no sender, no recipient, or too many of them.
    """
    server = parse_url(text, ("smtp", "smtps"))
    if urlsplit(text).path not in {"", "/"}:
        message = f"the URL {show(text)} has a path; write ?from=…&to=… behind the server"
        raise RefusedAddressError(message)
    members: dict[str, list[str]] = {}
    for name, value in parse_qsl(urlsplit(text).query, keep_blank_values=True):
        members.setdefault(name, []).append(value)
    if unknown := sorted(members.keys() - _MEMBERS):
        message = f"the URL of mail has {show(unknown[0])}; there are from, to and tls"
        raise RefusedAddressError(message)
    senders, recipients = members.get("from", []), tuple(dict.fromkeys(members.get("to", [])))
    if len(senders) != 1 or not 1 <= len(recipients) <= MOST_RECIPIENTS:
        message = f"the URL of mail needs one from=… and 1 to {MOST_RECIPIENTS} to=…"
        raise RefusedAddressError(message)
    for each in (*senders, *recipients):
        # A plus in a query is a space, unless it is written as %2B.
        if _MAILBOX.fullmatch(each) is None:
            message = f"{show(each)} is not a mailbox, as ann@example.com is; write + as %2B"
            raise RefusedAddressError(message)
    return MailUrl(server, senders[0], recipients, _is_plain(server, members.get("tls", [])))


def _is_plain(server: Target, given: list[str]) -> bool:
    if not given:
        return False
    if given != ["none"] or server.scheme == "smtps":
        message = "tls is none or left out, and smtps always has it"
        raise RefusedAddressError(message)
    return True
