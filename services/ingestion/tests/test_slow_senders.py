"""Clients that send slowly, or nothing, take nothing from others; the answer says what was acknowledged."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import httpx2
import pyarrow as pa
from graphtide_ingestion.bootstrap import Ingestion, bootstrap
from graphtide_ingestion.settings import Settings
from graphtide_log.memory import MemoryLog
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.settings import KeySettings
from graphtide_testing.serving import Raw, raw, serve
from graphtide_testing.waiting import wait_until
from graphtide_wire import raw as raw_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_wire.raw import RawEdges

MIB = 1024 * 1024
EDGE = b'{"ts":1,"src":"a","dst":"b","label":"x"}\n'
KEYS = [KeySettings(name=name, hash=hash_key(name), scopes=["edges:write"]) for name in ("ann", "bob")]


@contextmanager
def serving(most_bytes: int = 64 * MIB) -> Iterator[tuple[Ingestion, str]]:
    settings = Settings(api_keys=KEYS, streams=("s",), roles=frozenset({"http"}), most_bytes_in_flight=most_bytes, burst=10_000)
    service = bootstrap(MemoryLog(), settings)
    with serve(service.app) as url:
        yield service, f"{url}/api/v1/streams/s/edges"


def send(url: str, key: str, edges: int = 1) -> int:
    headers = {"X-API-Key": key, "content-type": "application/x-ndjson"}
    return httpx2.post(url, content=EDGE * edges, headers=headers, timeout=30).status_code


def begin(connection: Raw, key: str, size: int) -> None:
    """Send the headers of a request."""
    lines = ["POST /api/v1/streams/s/edges HTTP/1.1", "Host: localhost", f"X-API-Key: {key}", f"Content-Length: {size}"]
    connection.send("\r\n".join([*lines, "Content-Type: application/x-ndjson", "", ""]).encode())


def edges_in(record: RawEdges) -> int:
    """Return how many edges a raw record has, a batch of them or lines."""
    if record.is_batch:
        return int(pa.ipc.open_stream(record.body).read_all().num_rows)
    return record.body.count(b"\n")


def test_silent_requests_shut_no_other_out() -> None:
    with serving() as (_, url), ExitStack() as stack:
        for _ in range(64):
            begin(stack.enter_context(raw(url)), "ann", 4 * MIB)
        assert [send(url, key) for key in ("ann", "bob")] == [202, 202]


def test_who_fills_the_room_for_one_caller_leaves_that_of_others() -> None:
    with serving(MIB) as (service, url), ExitStack() as stack:
        for _ in range(2):
            connection = stack.enter_context(raw(url))
            begin(connection, "ann", 4 * MIB)
            connection.send(b"x" * 250_000)
        wait_until(lambda: service.admission_limit.taken == 500_000, 30, pause=0.01)
        assert [send(url, key, 1_000) for key in ("ann", "bob")] == [429, 202]


def test_room_is_free_again_when_the_log_has_answered_and_the_body_continues() -> None:
    with serving() as (service, url), raw(url) as connection:
        edges = 3 * MIB // len(EDGE)
        begin(connection, "ann", 2 * edges * len(EDGE))
        connection.send(EDGE * edges)
        wait_until(lambda: 0 < service.admission_limit.taken < MIB, 30, pause=0.01)
        connection.send(EDGE * edges)
        assert b'{"accepted":%d,"rejected":0' % (2 * edges) in connection.answer()
        wait_until(lambda: service.admission_limit.taken == 0, 30, pause=0.01)


def test_the_answer_to_a_body_that_stops_coming_says_which_of_its_edges_are_kept() -> None:
    with serving() as (service, url), raw(url) as connection:
        edges = MIB // len(EDGE)
        begin(connection, "ann", 8 * MIB)
        connection.send(EDGE * edges)
        head, _, body = connection.answer(60).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408")
        reported = json.loads(body)
        reader = service.log.reader(None)
        reader.assign(dict.fromkeys(reader.partitions("graphtide.in.s.v1"), 0))
        kept = sum(edges_in(raw_records.decode(record)) for record in reader.poll(0, 1_000))
        assert (reported["code"], reported["accepted"]) == ("slow-body", kept)
        assert 0 < kept <= edges
