"""A receiver of webhooks on loopback, which answers as a test says."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass
class Received:
    """One request, and what is answered: a status, or nothing and the connection is reset."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """The requests that came, and those that were accepted.

    Attributes:
        answer: returns the status of a request; None resets the connection after the request was taken.
        location: of redirects.
        body: of answers.
    """

    answer: Callable[[Received], int | None] = lambda _request: 204
    location: str = "/elsewhere"
    body: bytes = b""
    requests: list[Received] = field(default_factory=list)
    accepted: list[Received] = field(default_factory=list)
    port: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}/hook?a=1"


@contextmanager
def serve_receiver(receiver: Receiver) -> Iterator[Receiver]:
    """Serve while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            with receiver.lock:
                receiver.requests.append(request)
                status = receiver.answer(request)
                if status is None or 200 <= status < 300:
                    receiver.accepted.append(request)
            if status is None:
                # Closing with this option set resets the connection.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                return
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", receiver.location)
            self.send_header("Content-Length", str(len(receiver.body)))
            self.end_headers()
            self.wfile.write(receiver.body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # resets are part of tests
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
