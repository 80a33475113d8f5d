"""Delivers alerts as e-mail by SMTP: over TLS unless its URL says otherwise, from and to the mailboxes that it names.

`Message-ID` is made of the alert's id, so mail that comes twice is known as one. Replies of 4xx may pass, those of 5xx stay
(RFC 5321, 4.2.1).
"""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage
from email.utils import format_datetime
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.mail_url import parse_mail_url
from graphtide_core.outbound_addresses import check_host

from graphtide_alerts.adapters.connecting import Deadline, looking_up, resolve_host
from graphtide_alerts.adapters.secret_file import read_secret
from graphtide_alerts.application.ports import UndeliverableError, UndeliveredError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence
    from io import BufferedReader

    from graphtide_core.mail_url import MailUrl
    from graphtide_core.outbound_addresses import Address, AllowedAddresses, Resolve, Target
    from graphtide_core.ports.clock import Clock

    from graphtide_alerts.domain.alert import Alert

MOST_SUBJECT: Final = 200
"""Characters of a subject."""

MOST_REPLIES: Final = 64 * 1024
"""Bytes of a server's replies that are read."""

_FINAL: Final = 500
"""Replies from this code on stay."""


class Mail:
    """A `Sender` to mailboxes."""

    def __init__(
        self,
        url: str,
        allowed: AllowedAddresses,
        clock: Clock,
        secret: Callable[[], bytes] | None = None,
        *,
        resolve: Resolve | None = None,
        seconds: float = 10.0,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        """Send by a URL; `secret` reads `USER:PASSWORD` at each attempt, and `trust` checks certificates as the system does."""
        self._url = url
        self._allowed = allowed
        self._clock = clock
        self._secret = secret
        self._resolve = resolve or resolve_host
        self._seconds = seconds
        self._trust = trust

    def send(self, alert: Alert) -> None:
        """See `Sender`."""
        with looking_up():
            route = parse_mail_url(self._url)
            addresses = check_host(route.server.host, self._resolve, self._allowed)
        message, login = self._message(route, alert), self._login(route)
        with Deadline(self._seconds) as deadline:
            connection = _Connection(route.server, addresses, deadline, self._trust or ssl.create_default_context())
            _deliver(connection, route, message, login)

    def close(self) -> None:
        """Do nothing: each attempt has a connection of its own."""

    def _login(self, route: MailUrl) -> tuple[str, str] | None:
        if self._secret is None:
            return None
        if route.is_plain:
            message = "a password is sent over TLS alone; leave tls=none or the secret out"
            raise UndeliverableError(message)
        user, colon, password = read_secret(self._secret).decode("utf-8", "replace").partition(":")
        if not colon:
            message = "the file of the secret is not USER:PASSWORD"
            raise UndeliveredError(message)
        return user, password

    def _message(self, route: MailUrl, alert: Alert) -> EmailMessage:
        message = EmailMessage()
        message["Subject"] = _subject(alert)
        message["From"] = route.sender
        message["To"] = ", ".join(route.recipients)
        message["Date"] = format_datetime(self._clock.now())
        message["Message-ID"] = f"<{alert.id}@graphtide>"
        message["Auto-Submitted"] = "auto-generated"
        description = alert.content.get("description")
        parts = [alert.content["message"], description, msgspec.json.format(msgspec.json.encode(alert.content)).decode()]
        message.set_content("\n\n".join(part for part in parts if part))
        return message


def _deliver(connection: _Connection, route: MailUrl, mail: EmailMessage, login: tuple[str, str] | None) -> None:
    try:
        connection.deliver(route, mail, login)
    except smtplib.SMTPRecipientsRefused as error:
        _refuse(max(code for code, _ in error.recipients.values()), "all recipients")
    except smtplib.SMTPNotSupportedError:
        message = "the server offers no TLS or no way to log in; tls=none goes without TLS"
        raise UndeliverableError(message) from None
    except smtplib.SMTPResponseException as error:
        _refuse(error.smtp_code, "the mail")
    except ssl.SSLCertVerificationError as error:
        message = f"the certificate of the server does not hold: {error.verify_message}"
        raise UndeliveredError(message) from None
    except (OSError, smtplib.SMTPException) as error:
        message = f"the server did not answer: {type(error).__name__}"
        raise UndeliveredError(message) from None
    finally:
        connection.close()


def _subject(alert: Alert) -> str:
    """Return the subject on one line: what comes from outside may not begin another header."""
    severity = alert.content.get("severity")
    name = alert.pattern or alert.content["target"]
    whole = f"{name}: {alert.content['message']}" if severity is None else f"[{severity}] {name}: {alert.content['message']}"
    text = " ".join("".join(each if each.isprintable() else " " for each in whole).split())
    return text if len(text) <= MOST_SUBJECT else f"{text[: MOST_SUBJECT - 1]}…"


def _refuse(code: int, what: str) -> None:
    message = f"the server refused {what} ({code})"
    raise (UndeliverableError if code >= _FINAL else UndeliveredError)(message)


class _Connection(smtplib.SMTP):
    """A connection to addresses that were checked, for a host of another name."""

    def __init__(self, server: Target, addresses: Sequence[Address], deadline: Deadline, trust: ssl.SSLContext) -> None:
        # A name of its own: smtplib would look up that of the machine.
        super().__init__(local_hostname="graphtide-alerts")
        self._host = server.host  # `starttls` checks the certificate for it
        self._server = server
        self._addresses = addresses
        self._deadline = deadline
        self._trust = trust

    def deliver(self, route: MailUrl, message: EmailMessage, login: tuple[str, str] | None) -> None:
        """Send a message."""
        self.connect(self._server.host, self._server.port)
        if not route.is_plain and self._server.scheme == "smtp":
            self.starttls(context=self._trust)
        if login is not None:
            self.login(*login)
        refused = self.send_message(message, route.sender, route.recipients)
        if refused:
            _refuse(max(code for code, _ in refused.values()), f"{len(refused)} of {len(route.recipients)} recipients")

    def getreply(self) -> tuple[int, bytes]:
        """Return a reply, as smtplib does, which reads as many lines as come; these have a bound together."""
        if self.file is None and self.sock is not None:
            self.file = _Replies(self.sock.makefile("rb"))
        return super().getreply()

    def _get_socket(self, _host: str, port: int, _timeout: float) -> socket.socket:
        found = self._deadline.connect(self._addresses, port)
        if self._server.scheme == "smtps":
            return self._trust.wrap_socket(found, server_hostname=self._server.host)
        return found


class _Replies:
    """The lines of a server, up to `MOST_REPLIES` bytes of them."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._left = MOST_REPLIES

    def readline(self, most: int) -> bytes:
        line = self._file.readline(most)
        self._left -= len(line)
        if self._left < 0:
            message = "the server says too much"
            raise OSError(message)
        return line

    def close(self) -> None:
        self._file.close()
