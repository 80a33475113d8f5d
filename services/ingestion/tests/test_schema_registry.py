"""A registry of schemas is asked once for each schema; one that it does not have is another error than one that has to wait."""

from __future__ import annotations

import json
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, ClassVar

import pytest
from graphtide_core.errors import FatalError, TransientError, UnreadableStreamError
from graphtide_ingestion.adapters import schema_registry
from graphtide_ingestion.adapters.schema_registry import SchemaRegistry
from graphtide_testing.clock import ManualClock

if TYPE_CHECKING:
    from collections.abc import Iterator


class Answers(BaseHTTPRequestHandler):
    """A registry with some schemas, and some answers that are none."""

    asked: ClassVar[Counter[str]] = Counter()
    known: ClassVar[dict[str, tuple[int, str]]] = {
        "7": (200, json.dumps({"schema": '"long"'})),
        "8": (200, json.dumps({"schema": "syntax", "schemaType": "PROTOBUF"})),
        "9": (200, "<html>"),
        "10": (500, "{}"),
        "11": (200, json.dumps({"schema": "x" * 200})),
    }

    def do_GET(self) -> None:
        """Answer."""
        place = self.path.removeprefix("/api/schemas/ids/")
        self.asked[place] += 1
        status, body = self.known.get(place, (404, "{}"))
        if self.headers["Authorization"] != "Basic YW5uOnBAc3M=":
            status = 401
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def host() -> Iterator[str]:
    """Run the registry."""
    Answers.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_each_schema_is_asked_for_once(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_registry, "MOST_BYTES", 100)
    clock = ManualClock()
    registry = SchemaRegistry(f"http://ann:p%40ss@{host}/api/", clock)
    assert [registry(7), registry(7)] == [b'"long"'] * 2
    for number, error, reason in (
        (6, UnreadableStreamError, "has no schema 6"),
        (8, UnreadableStreamError, "schema 8 of the registry is of PROTOBUF, not Avro"),
        (9, TransientError, "is not that of a registry of schemas"),
        (10, TransientError, f"answers http://{host}/api/schemas/ids/10 with 500"),
        (11, UnreadableStreamError, "with more than 100 bytes"),
    ):
        for _ in range(2):
            with pytest.raises(error, match=reason):
                registry(number)
    assert Answers.asked == {"7": 1, "6": 1, "8": 1, "9": 2, "10": 2, "11": 1}
    clock.sleep(61)
    with pytest.raises(UnreadableStreamError):
        registry(6)
    assert Answers.asked["6"] == 2


def test_a_registry_that_is_not_there_does_not_answer_and_one_without_a_host_is_refused() -> None:
    with pytest.raises(TransientError, match="does not answer"):
        SchemaRegistry("http://127.0.0.1:1", ManualClock())(7)
    with pytest.raises(FatalError, match="not a URL"):
        SchemaRegistry("schemas.example", ManualClock())
