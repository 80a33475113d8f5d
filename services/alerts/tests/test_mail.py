"""Mail is sent over TLS, once for each alert by its id; a reply says whether another attempt may succeed."""

from __future__ import annotations

import ssl
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from graphtide_alerts.adapters.mail import MOST_SUBJECT, Mail
from graphtide_alerts.application.ports import UndeliverableError, UndeliveredError
from graphtide_alerts.domain.alert import Alert
from graphtide_core.outbound_addresses import AllowedAddresses
from graphtide_serving.clock import SystemClock
from graphtide_testing.mail_receiver import MailReceiver, serve_mail

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ID = "0a" * 16
LOOPBACK = AllowedAddresses(["127.0.0.0/8"])


def alert(message: str = "ann pays bob") -> Alert:
    content = {"id": ID, "severity": "high", "description": "It is odd.", "message": message, "match": {"match_id": ID}}
    return Alert(ID, "match", content, "p", b"{}")


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return what a server proves itself with, and what trusts it."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "here")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(1))
        .not_valid_after(now + timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    path: Path = tmp_path_factory.mktemp("tls") / "here.pem"
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(private + certificate.public_bytes(encoding))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    return server, ssl.create_default_context(cadata=certificate.public_bytes(encoding).decode())


@pytest.fixture
def receiver() -> Iterator[MailReceiver]:
    with serve_mail(MailReceiver()) as found:
        yield found


def mail(url: str, secret: bytes | None = None, trust: ssl.SSLContext | None = None, seconds: float = 30.0) -> Mail:
    read = None if secret is None else lambda: secret
    return Mail(url, LOOPBACK, SystemClock(), read, seconds=seconds, trust=trust)


def test_an_alert_is_a_message_under_its_id(receiver: MailReceiver) -> None:
    mail(receiver.url("&to=bob%2Bnight@example.com&tls=none")).send(alert())
    ((recipients, message),) = receiver.messages
    assert recipients == ("ann@example.com", "bob+night@example.com")
    assert (message["Subject"], message["From"]) == ("[high] p: ann pays bob", "graphtide@example.com")
    assert message["Message-ID"] == f"<{ID}@graphtide>"
    body = message.get_content().replace("\r\n", "\n")
    assert body.startswith("ann pays bob\n\nIt is odd.\n\n{")
    assert f'"match_id": "{ID}"' in body


def test_no_text_of_a_match_begins_another_header(receiver: MailReceiver) -> None:
    mail(receiver.url("&tls=none")).send(alert("é\r\nBcc: eve@example.com\r\n\r\n.\r\nQUIT " + "x" * 5_000))
    ((recipients, message),) = receiver.messages
    assert recipients == ("ann@example.com",)
    assert message["Bcc"] is None
    assert message["Subject"].startswith("[high] p: é Bcc: eve@example.com . QUIT x")
    assert len(message["Subject"]) == MOST_SUBJECT
    assert "QUIT" not in receiver.commands


def test_a_password_goes_over_tls_alone(receiver: MailReceiver, contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    receiver.tls, trust = contexts
    mail(receiver.url(), b"ann:a secret", trust).send(alert())
    assert len(receiver.messages) == 1
    verbs = [each.partition(" ")[0] for each in receiver.commands]
    assert verbs[:4] == ["ehlo", "STARTTLS", "ehlo", "AUTH"]
    receiver.commands.clear()
    with pytest.raises(UndeliverableError, match="over TLS alone"):
        mail(receiver.url("&tls=none"), b"ann:a secret").send(alert())
    with pytest.raises(UndeliveredError, match="USER:PASSWORD"):
        mail(receiver.url(), b"a secret", trust).send(alert())
    assert receiver.commands == []


def test_a_certificate_that_does_not_hold_ends_the_attempt(
    receiver: MailReceiver, contexts: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    receiver.tls, _ = contexts
    with pytest.raises(UndeliveredError, match="certificate"):
        mail(receiver.url(), b"ann:a secret").send(alert())
    assert not any("AUTH" in each for each in receiver.commands)


def test_a_server_without_tls_gets_nothing(receiver: MailReceiver) -> None:
    with pytest.raises(UndeliverableError, match="no TLS"):
        mail(receiver.url()).send(alert())
    assert receiver.messages == []


@pytest.mark.parametrize("verb", ["ehlo", "mail", "rcpt", "data"])
@pytest.mark.parametrize(("code", "kind"), [(421, UndeliveredError), (451, UndeliveredError), (550, UndeliverableError)])
def test_a_reply_of_4xx_may_pass_and_one_of_5xx_stays(
    receiver: MailReceiver, verb: str, code: int, kind: type[Exception]
) -> None:
    receiver.answer = lambda line: code if line.lower().startswith((verb, "helo" if verb == "ehlo" else verb)) else 250
    with pytest.raises(kind):
        mail(receiver.url("&tls=none")).send(alert())
    assert receiver.messages == []


def test_a_refused_recipient_is_not_overlooked(receiver: MailReceiver) -> None:
    receiver.answer = lambda line: 550 if "bob" in line else 250
    with pytest.raises(UndeliverableError, match=r"1 of 2 recipients \(550\)"):
        mail(receiver.url("&to=bob@example.com&tls=none")).send(alert())


def test_a_server_that_never_comes_to_an_end_ends_the_attempt(receiver: MailReceiver) -> None:
    receiver.drips = True
    begin = time.monotonic()
    with pytest.raises(UndeliveredError, match="did not answer"):
        mail(receiver.url("&tls=none"), seconds=0.5).send(alert())
    assert time.monotonic() - begin < 60


def test_a_server_that_says_too_much_ends_the_attempt(receiver: MailReceiver) -> None:
    receiver.is_endless = True
    with pytest.raises(UndeliveredError, match="did not answer"):
        mail(receiver.url("&tls=none"), seconds=100_000.0).send(alert())


def test_a_server_within_the_deployment_is_refused() -> None:
    with pytest.raises(UndeliverableError, match="not public"):
        Mail("smtp://127.0.0.1?from=a@b.example&to=c@d.example", AllowedAddresses(), SystemClock()).send(alert())
