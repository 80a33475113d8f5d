"""Who may lets the times of a stream begin anew over HTTP: once, on record, and no other way."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi.testclient import TestClient
from graphtide_core.errors import TransientError
from graphtide_core.ids import StreamName
from graphtide_ingestion.bootstrap import bootstrap
from graphtide_ingestion.settings import Settings
from graphtide_log.memory import MemoryLog
from graphtide_ordering.progress_reports import progress_of
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.settings import KeySettings
from graphtide_testing.sequenced import letters, ordered_edges, records_of
from graphtide_testing.waiting import wait_until
from graphtide_wire import raw
from graphtide_wire.topics import Topics
from structlog.testing import capture_logs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_core.ports.log import Log, LogWriter, Message
    from graphtide_wire.raw import Reset
    from httpx2 import Response

TOPICS = Topics("test")
FLOWS = StreamName("flows")
RESET = "/api/v1/streams/flows:reset-watermark"
EDGES = "/api/v1/streams/flows/edges"
FAR = 2**63 - 1


@dataclass
class Service:
    client: TestClient
    log: Log

    def reset(self, query: str = "", **headers: str) -> Response:
        return self.client.post(RESET + query, headers=headers)

    def send(self, *times: int, **headers: str) -> Response:
        edges = "".join(json.dumps({"ts": ts, "src": "a", "dst": "b", "label": "x", "id": f"e{ts}"}) + "\n" for ts in times)
        return self.client.post(EDGES, content=edges, headers={"content-type": "application/x-ndjson", **headers})

    def resets(self) -> list[Reset]:
        origins = (raw.parts(record)[0] for record in records_of(self.log, TOPICS.raw(FLOWS)))
        return [origin.reset for origin in origins if origin.reset is not None]

    def epoch(self) -> int | None:
        progress = progress_of(self.log, TOPICS, FLOWS)
        return None if progress is None else progress.epoch

    def ordered(self) -> list[tuple[int, str]]:
        return [(edge.epoch, edge.id) for edge in ordered_edges(self.log, TOPICS, FLOWS)]

    def late(self) -> int:
        return sum(code == "late" for _, code, *_ in letters(self.log, TOPICS, FLOWS))


@contextmanager
def serving(log: Log | None = None, **settings: Any) -> Iterator[Service]:
    """Serve without sequencers, unless roles say otherwise."""
    log = log or MemoryLog()
    usual = {"prefix": "test", "streams": ("flows",), "roles": frozenset({"http"}), "insecure": True, "burst": 10_000}
    service = bootstrap(log, Settings(**{**usual, **settings}))
    with TestClient(service.app, raise_server_exceptions=False) as client:
        yield Service(client, log)


BOTH = frozenset({"http", "sequencer"})


def test_a_stream_whose_edges_are_all_late_continues_after_a_reset_also_in_another_process() -> None:
    log = MemoryLog()
    with serving(log, roles=BOTH, max_ahead_seconds=float("inf")) as service:
        service.send(1, FAR)
        wait_until(lambda: len(service.ordered()) == 2, 30)
        service.send(2)
        wait_until(lambda: service.late() == 1, 30)
    with serving(log, roles=BOTH, max_ahead_seconds=float("inf")) as service:
        assert service.send(3).status_code == 202
        wait_until(lambda: service.late() == 2, 30)
        answer = service.reset()
        assert (answer.status_code, answer.json()) == (202, {"stream": "flows", "ended": 0})
        wait_until(lambda: service.epoch() == 1, 30)
        service.send(4)
        wait_until(lambda: len(service.ordered()) == 3, 30)
    with serving(log, roles=BOTH) as service:
        service.send(5)
        wait_until(lambda: len(service.ordered()) == 4, 30)
        assert service.ordered() == [(0, "e1"), (0, f"e{FAR}"), (1, "e4"), (1, "e5")]
        assert (service.late(), service.epoch()) == (2, 1)


def test_a_reset_is_on_record_with_who_asked_for_it() -> None:
    keys = [KeySettings(name="operator", hash=hash_key("secret"), scopes=["patterns:write"])]
    with serving(insecure=False, api_keys=keys) as service, capture_logs() as logs:
        assert service.reset(**{"x-api-key": "secret"}).status_code == 202
        assert [(each.ends, each.requested_by) for each in service.resets()] == [(0, "operator")]
    said = [each for each in logs if each["event"] == "reset.requested"]
    assert [(each["stream"], each["epoch"], each["caller"]) for each in said] == [("flows", 0, "operator")]


def test_only_who_may_change_patterns_may_reset() -> None:
    scopes = ("edges:write", "patterns:read", "patterns:write", "admin")
    keys = [KeySettings(name=name, hash=hash_key(name), scopes=[name]) for name in scopes]
    with serving(insecure=False, api_keys=keys) as service:
        assert service.reset().json()["code"] == "unauthenticated"
        assert [service.reset(**{"x-api-key": name}).status_code for name in scopes] == [403, 403, 202, 202]
        assert len(service.resets()) == 2


def test_a_request_that_is_repeated_resets_once() -> None:
    with serving(roles=BOTH) as service:
        first = service.reset(**{"idempotency-key": "k"})
        wait_until(lambda: service.epoch() == 1, 30)
        assert service.reset(**{"idempotency-key": "k"}).json() == first.json()
        other = service.reset("?epoch=1", **{"idempotency-key": "k"})
        assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")
        assert service.reset("?epoch=0").json() == first.json(), "it is over"
        assert [each.ends for each in service.resets()] == [0]
        assert service.reset("?epoch=1").json()["ended"] == 1
        wait_until(lambda: service.epoch() == 2, 30)


class Mute(MemoryLog):
    """A log that takes what is written and does not answer for it, at first."""

    is_mute = True

    def writer(self) -> LogWriter:
        return _MuteWriter(self, super().writer())


@dataclass
class _MuteWriter:
    log: Mute
    of: LogWriter

    def write(self, messages: Iterable[Message]) -> None:
        self.of.write(messages)

    def flush(self, timeout: float) -> None:
        self.of.flush(timeout)
        if self.log.is_mute:
            message = "the log does not answer"
            raise TransientError(message)

    def close(self) -> None:
        self.of.close()


def test_a_request_that_was_not_answered_and_is_repeated_resets_once() -> None:
    log = Mute()
    with serving(log, roles=BOTH) as service:
        assert service.reset(**{"idempotency-key": "k"}).status_code == 503
        wait_until(lambda: service.epoch() == 1, 30)
        log.is_mute = False
        answer = service.reset(**{"idempotency-key": "k"})
        assert (answer.status_code, answer.json()) == (202, {"stream": "flows", "ended": 0})
        service.send(1)
        wait_until(lambda: service.ordered() == [(1, "e1")], 30)
        assert [each.ends for each in service.resets()] == [0]


def test_two_requests_before_the_stream_was_put_in_order_are_one_reset() -> None:
    log = MemoryLog()
    with serving(log) as service:
        assert [service.reset().json()["ended"] for _ in range(2)] == [0, 0]
    with serving(log, roles=BOTH) as service:
        service.send(1)
        wait_until(lambda: service.ordered() == [(1, "e1")], 30)


def test_what_cannot_be_reset_is_refused_and_nothing_is_written() -> None:
    with serving(create_streams=True) as service:
        assert service.reset("?epoch=1").json()["code"] == "unknown-epoch"
        assert service.reset("?epoch=-1").json()["code"] == "invalid-request"
        for name, code in (("nowhere", "unknown-stream"), ("No%20Stream", "invalid-stream-name")):
            answer = service.client.post(f"/api/v1/streams/{name}:reset-watermark")
            assert (answer.status_code, answer.json()["code"]) == (404, code)
        assert TOPICS.raw(StreamName("nowhere")) not in service.log.admin().topics()
        assert service.client.get(RESET).status_code == 405
        assert service.resets() == []


def test_no_request_with_edges_is_a_command_with_any_headers_and_columns() -> None:
    command = {"graphtide-command": "reset-watermark", "graphtide-epoch": "0", "ce-graphtide-command": "reset-watermark"}
    body = '{"ts":1,"src":"a","dst":"b","label":"x","graphtide-command":"reset-watermark","graphtide-epoch":0}\n'
    csv = "ts,src,dst,label,graphtide-command,graphtide-epoch\n2,a,b,x,reset-watermark,0\n"
    event = {"specversion": "1.0", "graphtide-command": "reset-watermark", "data": json.loads(body)}
    with serving() as service:
        for content, kind in (
            (body, "application/x-ndjson"),
            (csv, "text/csv"),
            (json.dumps(event), "application/cloudevents+json"),
            (body, "application/json"),
            ("", "application/x-ndjson"),
        ):
            service.client.post(EDGES, content=content, headers={"content-type": kind, "graphtide-producer": "p", **command})
        records = records_of(service.log, TOPICS.raw(FLOWS))
        assert len(records) == 4
        assert {name for record in records for name, _ in record.headers} <= {
            "content-type",
            "graphtide-columns",
            "graphtide-types",
            "graphtide-producer",
            "graphtide-line",
            "traceparent",
        }
        assert service.resets() == []
