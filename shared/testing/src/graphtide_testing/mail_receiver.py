"""A mail server on loopback, which answers as a test says."""

from __future__ import annotations

import socketserver
import ssl
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from email.message import EmailMessage


@dataclass
class MailReceiver:
    """The mail that came.

    Attributes:
        answer: returns the code of a command, by its line.
        tls: offers STARTTLS with this; None offers none.
        drips: sends the greeting a byte at a time, without an end.
        is_endless: sends one line of a reply after the other, without an end.
        commands: that came, one line each.
        messages: that were taken, with their recipients.
    """

    answer: Callable[[str], int] = lambda _line: 250
    tls: ssl.SSLContext | None = None
    drips: bool = False
    is_endless: bool = False
    commands: list[str] = field(default_factory=list)
    messages: list[tuple[tuple[str, ...], EmailMessage]] = field(default_factory=list)
    port: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def url(self, more: str = "") -> str:
        """Return its address."""
        return f"smtp://127.0.0.1:{self.port}?from=graphtide@example.com&to=ann@example.com{more}"


@contextmanager
def serve_mail(receiver: MailReceiver) -> Iterator[MailReceiver]:
    """Serve while the block runs."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while receiver.drips and not receiver.ended.wait(0.05):
                self.wfile.write(b"2")
            while receiver.is_endless and not receiver.ended.is_set():
                self.say("220-" + "x" * 1_000)
            self.say("220 here")
            recipients: list[str] = []
            while line := self.rfile.readline(2_000).decode().strip():
                receiver.commands.append(line)
                verb = line.partition(" ")[0].upper()
                code = receiver.answer(line)
                if code >= 400:
                    self.say(f"{code} no")
                elif verb == "EHLO":
                    recipients = []
                    is_secure = isinstance(self.connection, ssl.SSLSocket)
                    self.say(f"250-here\r\n250 {'STARTTLS' if receiver.tls is not None and not is_secure else 'AUTH PLAIN'}")
                elif verb == "STARTTLS" and receiver.tls is not None:
                    self.say("220 go on")
                    self.secure(receiver.tls)
                elif verb == "AUTH":
                    self.say("235 yes")
                elif verb == "DATA":
                    self.say("354 go on")
                    body = b"".join(iter(self.rfile.readline, b".\r\n"))
                    receiver.messages.append((tuple(recipients), message_from_bytes(body, policy=policy.default)))
                    self.say("250 taken")
                else:
                    if verb == "RCPT":
                        recipients.append(line.partition("<")[2].partition(">")[0])
                    self.say("250 yes")

        def finish(self) -> None:
            super().finish()
            self.connection.close()

        def say(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())
            self.wfile.flush()

        def secure(self, tls: ssl.SSLContext) -> None:
            self.connection = tls.wrap_socket(self.connection, server_side=True)
            self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb")

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Say nothing: a client that goes is part of the tests."""

    with Server(("127.0.0.1", 0), Handler) as server:
        receiver.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.ended.set()
            server.shutdown()
            thread.join()
