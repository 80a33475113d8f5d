"""A URL of mail names a server, one sender and some recipients."""

from __future__ import annotations

import pytest
from graphtide_core.mail_url import MOST_RECIPIENTS, parse_mail_url
from graphtide_core.outbound_addresses import RefusedAddressError

MANY = "&".join(f"to=a{number}@example.com" for number in range(MOST_RECIPIENTS + 1))


def test_a_url_of_mail_is_read() -> None:
    found = parse_mail_url("smtp://mail.example.com?from=a@example.com&to=b%2Bc@example.com&to=d@x.example&to=d@x.example")
    assert (found.server.scheme, found.server.host, found.server.port) == ("smtp", "mail.example.com", 587)
    assert (found.sender, found.recipients) == ("a@example.com", ("b+c@example.com", "d@x.example"))
    assert not found.is_plain
    assert parse_mail_url("smtps://mail.example.com/?from=a@b&to=c@d").server.port == 465
    assert parse_mail_url("smtp://mail.example.com:25?from=a@b&to=c@d&tls=none").is_plain


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://mail.example.com?from=a@b&to=c@d", "does not begin with smtp:// or smtps://"),
        ("smtp://ann:secret@mail.example.com?from=a@b&to=c@d", "names a user"),
        ("smtp://mail.example.com/inbox?from=a@b&to=c@d", "has a path"),
        ("smtp://mail.example.com?to=c@d", "one from=…"),
        ("smtp://mail.example.com?from=a@b&from=e@f&to=c@d", "one from=…"),
        ("smtp://mail.example.com?from=a@b", "1 to 20 to=…"),
        (f"smtp://mail.example.com?from=a@b&{MANY}", "1 to 20 to=…"),
        ("smtp://mail.example.com?from=a@b&to=c@d&cc=e@f", "there are from, to and tls"),
        ("smtp://mail.example.com?from=a@b&to=c", "is not a mailbox"),
        ("smtp://mail.example.com?from=a@b&to=c+d@e", r"write \+ as %2B"),
        ("smtp://mail.example.com?from=a@b&to=c@d%0D%0ARCPT%20TO:%3Ce@f%3E", "is not a mailbox"),
        ("smtp://mail.example.com?from=a@b%3E&to=c@d", "is not a mailbox"),
        ("smtp://mail.example.com?from=a@b&to=c@d&tls=maybe", "tls is none"),
        ("smtps://mail.example.com?from=a@b&to=c@d&tls=none", "tls is none"),
        ("smtp://0x7f.1?from=a@b&to=c@d", "neither the name of a host"),
    ],
)
def test_what_is_no_url_of_mail_is_refused(url: str, reason: str) -> None:
    with pytest.raises(RefusedAddressError, match=reason):
        parse_mail_url(url)
