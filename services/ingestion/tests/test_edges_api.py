"""Edges over HTTP are kept by the log or refused by name."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient
from graphtide_core.errors import FatalError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, Record
from graphtide_ingestion.bootstrap import Ingestion, bootstrap
from graphtide_ingestion.settings import Settings
from graphtide_log.memory import MemoryLog
from graphtide_native.records import RawBatchDecoder, Symbols
from graphtide_ordering.raw_decoding import RawDecoder
from graphtide_ordering.raw_groups import group_records
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.settings import KeySettings
from graphtide_testing.clock import ManualClock
from graphtide_testing.telemetry import count_metrics, metrics_of
from graphtide_testing.unwilling import Unwilling
from graphtide_testing.waiting import wait_until
from graphtide_wire import dead_letters, raw, stream_schema
from graphtide_wire.stream_schema import SchemaRecord, decode_schema, encode_schema, schema_key
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.log import Log, Record
    from httpx2 import Response

TOPICS = Topics("test")
EDGES = "/api/v1/streams/flows/edges"
NDJSON = {"content-type": "application/x-ndjson"}
CSV = {"content-type": "text/csv"}
JSON = {"content-type": "application/json"}
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def edge(ts: int, **more: object) -> str:
    return json.dumps({"ts": ts, "src": "a", "dst": "b", "label": "x", **more}) + "\n"


@dataclass
class Service:
    client: TestClient
    log: Log
    clock: ManualClock

    def post(self, content: str | bytes | Iterator[bytes], headers: dict[str, str] = NDJSON, url: str = EDGES) -> Response:
        return self.client.post(url, content=content, headers=headers)

    def records(self, topic: str) -> list[Record]:
        reader = self.log.reader(None)
        reader.assign(dict.fromkeys(reader.partitions(topic), 0))
        return reader.poll(0.0, 1000)

    def raw(self) -> list[Record]:
        return self.records("test.in.flows.v1")

    def text(self) -> bytes:
        return b"".join(map(text_of, self.raw()))

    def letters(self) -> list[dead_letters.DeadLetterRecord]:
        return [dead_letters.decode(record) for record in self.records("test.dlq.flows.v1")]


def text_of(record: Record) -> bytes:
    """The lines of a raw record, which may be a batch."""
    edges = raw.decode(record)
    if not edges.is_batch:
        return edges.body
    batch, _ = RawBatchDecoder(Symbols(), []).decode_pieces([edges.body], 1)
    return batch.raw_text(1)


@contextmanager
def serving(log: Log | None = None, **settings: Any) -> Iterator[Service]:
    """Serve without sequencers, unless roles say otherwise."""
    log, clock = log or MemoryLog(), ManualClock()
    usual = {"prefix": "test", "streams": ("flows",), "roles": frozenset({"http"}), "insecure": True, "burst": 10_000}
    service: Ingestion = bootstrap(log, Settings(**{**usual, **settings}), clock=clock)
    with TestClient(service.app, raise_server_exceptions=False) as client:
        yield Service(client, log, clock)


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as service:
        yield service


def problem(response: Response) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/problem+json"
    document = response.json()
    assert document["status"] == response.status_code
    assert document["type"] == f"urn:graphtide:problem:{document['code']}"
    assert document["title"]
    assert document["detail"]
    return response.status_code, document["code"]


def test_good_edges_are_passed_on_as_they_came_and_bad_ones_are_rejected(service: Service) -> None:
    first, bad, last = edge(1, n=1), '{"ts": "x"}\n', edge(2)
    answer = service.post(first + bad + "\n" + last, NDJSON | {"graphtide-producer": "probe", "traceparent": TRACE})
    assert (answer.status_code, answer.json()) == (
        202,
        {
            "accepted": 2,
            "rejected": 1,
            "errors": [{"line": 2, "code": "malformed", "reason": 'ts "x" is not an integer'}],
            "reasons": [{"code": "malformed", "count": 1, "line": 2, "reason": 'ts "x" is not an integer'}],
        },
    )
    (record,) = service.raw()
    assert record.value == (first + "\x1a\n\n" + last).encode()
    edges = raw.decode(record)
    assert (record.key, edges.producer, edges.line, edges.traceparent) == (b"probe", "probe", 1, TRACE)
    (letter,) = service.letters()
    assert (letter.raw, letter.code, letter.source.line, letter.content_type) == (
        bad.strip().encode(),
        "malformed",
        2,
        "application/x-ndjson",
    )
    assert (letter.producer, letter.traceparent) == ("probe", TRACE)


def test_edges_without_a_producer_go_to_the_first_partition(service: Service) -> None:
    for ts in range(5):
        service.post(edge(ts))
    assert {record.partition for record in service.raw()} == {0}


def test_csv_is_passed_on_with_its_columns_under_canonical_names(service: Service) -> None:
    body = 'from,to,when,label,"a,b"\r\na,b,1,x,"1\n2"\r\nb,c,soon,x,3\r\nc,d,2,x,4'
    answer = service.post(body, CSV, f"{EDGES}?columns=src:from,dst:to,ts:when")
    assert answer.json() == {
        "accepted": 2,
        "rejected": 1,
        "errors": [{"line": 4, "code": "malformed", "reason": 'ts "soon" is not an integer'}],
        "reasons": [{"code": "malformed", "count": 1, "line": 4, "reason": 'ts "soon" is not an integer'}],
    }
    (record,) = service.raw()
    edges = raw.decode(record)
    assert (edges.columns, edges.line, edges.body) == ('src,dst,ts,label,"a,b"', 2, b'a,b,1,x,"1\n2"\n\x1a\nc,d,2,x,4\n')


@pytest.mark.parametrize(
    ("headers", "body", "accepted"),
    [
        ({"content-type": "application/json"}, json.dumps(json.loads(edge(1)), indent=2), 1),
        ({"content-type": "application/json", "ce-specversion": "1.0", "ce-type": "t"}, edge(1), 1),
        (
            {"content-type": "application/cloudevents+json"},
            json.dumps({"specversion": "1.0", "data": [json.loads(edge(1)), json.loads(edge(2))]}),
            2,
        ),
        (
            {"content-type": "application/cloudevents-batch+json; charset=utf-8"},
            json.dumps([{"specversion": "1.0", "data": json.loads(edge(ts))} for ts in (1, 2, 3)]),
            3,
        ),
    ],
)
def test_single_edges_and_cloud_events_are_edges(service: Service, headers: dict[str, str], body: str, accepted: int) -> None:
    assert service.post(body, headers).json() == {"accepted": accepted, "rejected": 0, "errors": []}
    assert [json.loads(line)["ts"] for line in service.text().splitlines()] == list(range(1, accepted + 1))


EVENTS = "/api/v1/streams/flows/events"


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"content-type": "application/x-ndjson"}, '{"ts":1,"type":"jam","speed":9}\n{"ts":2}\n'),
        (CSV, "ts,type,speed\n1,jam,9\n2,,\n"),
        ({"content-type": "application/json", "ce-specversion": "1.0", "ce-type": "jam"}, '{"ts":1,"speed":9}'),
        (
            {"content-type": "application/cloudevents-batch+json"},
            '[{"specversion":"1.0","type":"jam","data":{"ts":1,"speed":9}},{"specversion":"1.0","type":"jam","data":{"speed":1}}]',
        ),
    ],
)
def test_events_are_taken_however_they_are_written(service: Service, headers: dict[str, str], body: str) -> None:
    answer = service.post(body, headers, EVENTS).json()
    assert (answer["accepted"], answer["rejected"]) == (1, len(service.letters()))
    (event,) = [
        record
        for group in group_records(service.raw())
        if (edges := RawDecoder().decode(group, 0).edges) is not None
        for record in edges.to_records()
    ]
    assert (event["ts"], event["label"], event["src"], event["dst"]) == (1, "jam", "", "")
    assert event["attributes"] == {"speed": 9}


def test_an_event_without_an_edge_is_rejected_alone(service: Service) -> None:
    batch = [{"specversion": "1.0", "data": json.loads(edge(1))}, {"specversion": "1.0"}, {"specversion": "1.0", "data": 5}]
    answer = service.post(json.dumps(batch), {"content-type": "application/cloudevents-batch+json"}).json()
    assert (answer["accepted"], answer["rejected"]) == (1, 2)
    assert sorted(error["line"] for error in answer["errors"]) == [2, 3]
    assert {letter.raw for letter in service.letters()} == {b'{"specversion":"1.0"}'.replace(b":", b": ", 1), b"5"}


@pytest.mark.parametrize("raw_form", ["batches", "text"])
def test_a_large_body_goes_out_in_parts_that_know_their_lines(raw_form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphtide_ingestion.bootstrap.LEAST_BATCH", 64)
    body = "".join(edge(ts, note="n" * 500) for ts in range(3000))
    with serving(raw_form=raw_form) as service:
        assert service.post(body[at : at + 7001].encode() for at in range(0, len(body), 7001)).json()["accepted"] == 3000
        records = service.raw()
    texts = [text_of(record) for record in records]
    assert b"".join(texts) == body.encode()
    assert [raw.decode(record).line for record in records] == [
        1 + sum(other.count(b"\n") for other in texts[:place]) for place in range(len(records))
    ]
    assert len(records) > 2
    assert max(map(len, texts)) <= 512 * 1024
    assert {raw.decode(record).is_batch for record in records} == {raw_form == "batches"}


def test_an_edge_that_is_too_large_is_rejected_alone(service: Service) -> None:
    answer = service.post(edge(1) + edge(2, note="n" * 600_000) + edge(3)).json()
    assert (answer["accepted"], [(error["line"], error["code"]) for error in answer["errors"]]) == (2, [(2, "too-large")])
    assert [raw.decode(record).line for record in service.raw()] == [1]


def test_only_the_first_errors_are_reported_and_all_are_kept(service: Service) -> None:
    answer = service.post('{"op": "upsert", "ts": 1}\n' * 25).json()
    assert (answer["rejected"], len(answer["errors"])) == (25, 10)
    assert {letter.code for letter in service.letters()} == {"unknown-operation"}
    assert len(service.letters()) == 25


@pytest.mark.parametrize(
    ("url", "headers", "body", "expected"),
    [
        ("/api/v1/streams/other/edges", NDJSON, "", (404, "unknown-stream")),
        ("/api/v1/streams/No!/edges", NDJSON, "", (404, "invalid-stream-name")),
        (EDGES, {"content-type": "application/xml"}, "", (415, "unsupported-media-type")),
        (EDGES, NDJSON | {"content-encoding": "gzip"}, "", (415, "unsupported-encoding")),
        (EDGES, CSV, "\x00\n", (400, "unreadable-body")),
        (EDGES, CSV, "src,dst\n", (400, "unreadable-body")),
        (EDGES, CSV, ",".join(["ts", "src", "dst", "label", "x" * 20_000]) + "\n", (400, "unreadable-body")),
        (EDGES, {"content-type": "application/cloudevents+json"}, "{}", (400, "unreadable-body")),
        (EDGES, {"content-type": "application/cloudevents-batch+json"}, "{}", (400, "unreadable-body")),
        (EDGES, {"content-type": "application/json"}, " " * 2_000_000, (413, "body-too-large")),
        (f"{EDGES}?columns=src", CSV, "", (400, "invalid-columns")),
        (f"{EDGES}?columns=source:from", CSV, "", (400, "invalid-columns")),
        (f"{EDGES}?columns=src:from", NDJSON, "", (400, "invalid-columns")),
        (EDGES, NDJSON | {"graphtide-producer": "p" * 201}, "", (400, "invalid-header")),
        (EDGES, NDJSON | {"idempotency-key": "k" * 256}, "", (400, "invalid-header")),
        ("/api/v1/nowhere", NDJSON, "", (404, "not-found")),
        ("/api/v1/dead-letters/flows/0-7:replay", NDJSON, "", (404, "unknown-letter")),
        ("/api/v1/dead-letters/flows/9-0:replay", NDJSON, "", (404, "unknown-letter")),
        ("/api/v1/dead-letters/flows/x-0:replay", NDJSON, "", (400, "bad-place")),
        ("/api/v1/dead-letters/flows/0/0:replay", NDJSON, "", (404, "not-found")),
        ("/api/v1/dead-letters/flows/0-0:replay", NDJSON, "{", (415, "unsupported-media-type")),
        (EDGES, {}, "", (415, "unsupported-media-type")),
        (EDGES, {"content-type": "text/csv; charset=iso-8859-1"}, "", (415, "unsupported-media-type")),
        (f"{EDGES}?colums=src:from", CSV, "", (422, "unknown-parameter")),
        (f"{EDGES}?columns=src:from&limit=1", CSV, "", (422, "unknown-parameter")),
        ("/api/v1/streams/flows:reset-watermark?epcoh=0", {}, "", (422, "unknown-parameter")),
    ],
)
def test_what_cannot_be_taken_is_answered_with_a_problem(
    service: Service, url: str, headers: dict[str, str], body: str, expected: tuple[int, str]
) -> None:
    assert problem(service.post(body, headers, url)) == expected
    assert service.raw() == []


def test_a_body_past_the_bound_is_refused_before_it_is_read_or_as_soon_as_it_shows() -> None:
    with serving(most_body_bytes=1000) as service:
        assert problem(service.post(edge(1) * 100)) == (413, "body-too-large")
        assert service.raw() == []
        answer = service.post(edge(1).encode() for _ in range(100))
        assert problem(answer) == (413, "body-too-large")
        assert answer.json()["accepted"] == len(service.text().splitlines())


def test_a_repeated_request_gets_the_first_answer_and_writes_nothing() -> None:
    with serving(answers_seconds=60) as service:
        headers = NDJSON | {"idempotency-key": "k1"}
        first = service.post(edge(1) + "{\n", headers).json()
        assert service.post(edge(1) + "{\n", headers).json() == first
        assert (len(service.raw()), len(service.letters())) == (1, 1)
        service.post(edge(2), NDJSON | {"idempotency-key": "k2"})
        service.clock.sleep(61)
        assert service.post(edge(3), headers).json()["rejected"] == 0
        assert len(service.raw()) == 3


@pytest.mark.parametrize("kind", [NDJSON, JSON])
def test_a_request_whose_edges_were_all_rejected_is_not_a_success_and_is_remembered_as_one_is(
    service: Service, kind: dict[str, str]
) -> None:
    headers = kind | {"idempotency-key": "k1"}
    first = service.post('{"ts": "x"}', headers)
    assert problem(first) == (422, "all-rejected")
    reported = {key: first.json()[key] for key in ("accepted", "rejected", "errors")}
    reason = 'ts "x" is not an integer'
    errors = [{"line": 1, "code": "malformed", "reason": reason}]
    assert reported == {"accepted": 0, "rejected": 1, "errors": errors}
    assert reason in first.json()["detail"]
    again = service.post('{"ts": "x"}', headers)
    assert (problem(again), again.json()) == ((422, "all-rejected"), first.json())
    assert len(service.letters()) == 1, "the letter is kept, and not written twice"
    assert problem(service.post(edge(1), headers)) == (422, "idempotency-key-reused")
    assert service.post("\n", NDJSON).status_code == 202, "without an edge, none was rejected"


def test_a_stream_that_was_made_for_edges_is_reported_with_those_that_may_be_meant() -> None:
    with serving(create_streams=True) as service:
        headers = NDJSON | {"idempotency-key": "k1"}
        first = service.post(edge(1), headers, "/api/v1/streams/flwos/edges")
        reported = {"accepted": 1, "rejected": 0, "errors": [], "created": True, "similar": ["flows"]}
        assert first.json() == reported
        assert service.post(edge(1), headers, "/api/v1/streams/flwos/edges").json() == reported, "the answer is the first one"
        assert "created" not in service.post(edge(2), NDJSON, "/api/v1/streams/flwos/edges").json()
        assert service.post(edge(1), NDJSON, "/api/v1/streams/zebra/edges").json()["created"] is True
        assert "similar" not in service.post(edge(1), NDJSON, "/api/v1/streams/giraffe/edges").json()
        bad = service.post(",", CSV, "/api/v1/streams/payments/edges")
        assert (problem(bad), "created" in bad.json()) == ((400, "unreadable-body"), False)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (NDJSON, '{"ts": "x"}'),
        (NDJSON, '{"ts": "x"}\n' * 5),
        (JSON, '{"ts": 1, "src": "a", "dst": "b"}'),
        (CSV, "ts,src,dst,label\nx,a,b,k\n"),
        (CSV, ","),
        (NDJSON | {"idempotency-key": "k"}, '{"ts": "x"}'),
        (NDJSON, ""),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["edges", "events"])
def test_a_request_without_a_usable_edge_makes_no_stream(headers: dict[str, str], body: str, kind: str) -> None:
    with serving(create_streams=True) as service:
        answer = service.post(body, headers, f"/api/v1/streams/other/{kind}")
        if body not in {"", ","}:
            assert problem(answer) == (422, "all-rejected")
            assert "cannot be used, and no stream was made; the first, line " in answer.json()["detail"]
            assert "created" not in answer.json()
        assert not [topic for topic in service.log.admin().topics() if "other" in topic]
        # Those after it are as for any other stream.
        good = service.post('{"ts": "x"}\n' + edge(1), NDJSON, "/api/v1/streams/other/edges")
        assert {name: good.json()[name] for name in ("accepted", "rejected", "created")} == {
            "accepted": 1,
            "rejected": 1,
            "created": True,
        }
        assert len(service.records(TOPICS.dead_letters(StreamName("other")))) == 1


@pytest.mark.parametrize("record", ['{"ts": 1}', '{"ts": 1, "a": 2}', '{"ts": 1, "src": "a"}', '{"ts":1,"src":"a","dst":"b"}'])
def test_an_event_without_a_type_says_so(service: Service, record: str) -> None:
    answer = service.post(record, NDJSON, EDGES.replace("/edges", "/events"))
    assert answer.json()["errors"][0]["reason"] == "type is missing"
    assert service.letters()[-1].reason == "type is missing"
    assert "is missing" in service.post(record, NDJSON, EDGES).json()["errors"][0]["reason"]


def test_a_request_that_is_refused_for_its_form_makes_no_stream() -> None:
    with serving(create_streams=True) as service:
        for headers, url in (
            ({"content-type": "application/xml"}, "/api/v1/streams/other/edges"),
            (NDJSON, "/api/v1/streams/other/edges?columns=src:from"),
            (NDJSON | {"graphtide-producer": "p" * 201}, "/api/v1/streams/other/edges"),
            (JSON, "/api/v1/dead-letters/other/0-0:replay"),
            ({}, "/api/v1/streams/other:reset-watermark"),
        ):
            assert service.post("", headers, url).status_code >= 400
        assert not [topic for topic in service.log.admin().topics() if "other" in topic]


def test_a_stream_that_was_deleted_is_missed_and_not_waited_for(service: Service) -> None:
    addresses = (EDGES, "/api/v1/streams/flows:reset-watermark")
    for url in addresses:
        assert service.post(edge(1), NDJSON, EDGES).status_code == 202, "it is known"
        topics = [spec.name for spec in TOPICS.of_stream(StreamName("flows"))]
        service.log.admin().delete(topics)
        assert problem(service.post(edge(1), NDJSON, url)) == (503, "unavailable")
        assert problem(service.post(edge(1), NDJSON, url)) == (404, "unknown-stream")
        service.log.admin().ensure(TOPICS.of_stream(StreamName("flows")))


def test_an_unknown_stream_is_refused_with_what_may_be_meant(service: Service) -> None:
    answer = service.post(edge(1), NDJSON, "/api/v1/streams/flwos/edges")
    assert (problem(answer), answer.json()["detail"]) == (
        (404, "unknown-stream"),
        "there is no stream 'flwos'; did you mean flows?",
    )
    answer = service.post("", CSV, f"{EDGES}?colums=src:from")
    assert answer.json()["hint"] == "did you mean columns?"
    assert answer.json()["parameter"] == "colums"
    answer = service.post("<edge/>", {"content-type": "application/xml"})
    assert "application/x-ndjson" in answer.headers["accept"]
    assert "application/x-ndjson" in answer.json()["detail"]


@pytest.mark.parametrize("more", [{"content-type": "application/json"}, {"graphtide-producer": "another"}, {}])
def test_another_request_with_a_key_that_was_used_is_refused(service: Service, more: dict[str, str]) -> None:
    """Its edges would be lost, with an answer that says they are kept."""
    headers = NDJSON | {"idempotency-key": "k1"}
    assert service.post(edge(1), headers).status_code == 202
    body = edge(1) if more else edge(2)
    answer = service.post(body, headers | more)
    assert (problem(answer), answer.json()["accepted"]) == ((422, "idempotency-key-reused"), 0)
    assert service.post(iter([edge(1).encode()[:5], edge(1).encode()[5:]]), headers).status_code == 202, "in other blocks"
    assert len(service.raw()) == 1
    assert service.post(body, headers | more | {"idempotency-key": "k2"}).status_code == 202
    assert len(service.raw()) == 2


def test_a_repeated_body_is_bounded_too() -> None:
    with serving(most_body_bytes=1000) as service:
        headers = NDJSON | {"idempotency-key": "k1"}
        assert service.post(edge(1), headers).status_code == 202
        assert problem(service.post((edge(1).encode() for _ in range(100)), headers)) == (413, "body-too-large")


def test_a_request_that_failed_is_not_remembered(service: Service) -> None:
    headers = {"idempotency-key": "k1"}
    assert problem(service.post(edge(1), CSV | headers)) == (400, "unreadable-body")
    assert service.post(edge(1), NDJSON | headers).status_code == 202


def test_too_many_bytes_in_flight_are_answered_with_when_to_come_back() -> None:
    log: Any = Unwilling()
    with serving(log, most_bytes_in_flight=100) as service:
        slow = threading.Thread(target=service.post, args=(edge(1) * 2,))
        slow.start()
        assert log.asked.wait(10)
        answer = service.post(edge(2))
        assert (problem(answer), answer.headers["retry-after"]) == ((429, "too-many-requests"), "1")
        log.willing.set()
        slow.join()
        assert service.post(edge(2)).status_code == 202


def test_a_log_that_does_not_answer_is_reported_as_unavailable() -> None:
    log: Any = Unwilling(refuses=True)
    with serving(log) as service:
        answer = service.post(edge(1))
        assert (problem(answer), answer.headers["retry-after"]) == ((503, "unavailable"), "1")


def test_a_stream_is_made_by_its_first_edges_if_so_set() -> None:
    with serving(create_streams=True) as service:
        assert service.post(edge(1), NDJSON, "/api/v1/streams/new/edges").status_code == 202
        assert len(service.records("test.in.new.v1")) == 1


def test_only_who_may_send_edges_is_let_in_and_none_too_often() -> None:
    keys = [KeySettings(name=name, hash=hash_key(name), scopes=[name]) for name in ("edges:write", "patterns:read")]
    with serving(insecure=False, api_keys=keys, burst=3, requests_per_second=0.001) as service:
        assert problem(service.post(edge(1))) == (401, "unauthenticated")
        assert problem(service.post(edge(1), NDJSON | {"x-api-key": "patterns:read"})) == (403, "forbidden")
        answers = [service.post(edge(ts), NDJSON | {"x-api-key": "edges:write"}) for ts in range(4)]
        assert [answer.status_code for answer in answers] == [202, 202, 202, 429]
        assert (problem(answers[3])[1], int(answers[3].headers["retry-after"]) > 0) == ("too-many-requests", True)
        assert len(service.raw()) == 3


def test_what_a_browser_sends_for_another_site_is_not_taken() -> None:
    with serving(hosts=["graphtide.example"]) as service:
        assert problem(service.post(edge(1), NDJSON | {"host": "evil.example"})) == (421, "unknown-host")
        assert problem(service.post(edge(1), NDJSON | {"origin": "https://evil.example"})) == (403, "foreign-origin")
        assert problem(service.client.get("/metrics", headers={"host": "evil.example"})) == (421, "unknown-host")
        assert service.raw() == []
        assert service.post(edge(1), NDJSON | {"host": "graphtide.example"}).status_code == 202


def test_a_service_without_keys_lets_no_caller_in() -> None:
    with pytest.raises(FatalError, match="no caller has access"):
        bootstrap(MemoryLog(), Settings())


def test_a_dead_letter_is_sent_again_corrected_by_its_place(service: Service) -> None:
    service.post("{\n" + edge(1), NDJSON | {"graphtide-producer": "probe"})
    answer = service.post(edge(2), JSON, "/api/v1/dead-letters/flows/0-0:replay")
    assert answer.json() == {"accepted": 1, "rejected": 0, "errors": []}
    assert [(record.key, raw.decode(record).producer) for record in service.raw()] == [(b"probe", "probe")] * 2
    answer = service.post("", {}, "/api/v1/dead-letters/flows/0-0:replay")
    assert (problem(answer), answer.json()["rejected"]) == ((422, "all-rejected"), 1)
    assert service.post(edge(3) + edge(4), NDJSON, "/api/v1/dead-letters/flows:replay").json()["accepted"] == 2


def test_a_dead_letter_of_csv_is_sent_again_only_as_json(service: Service) -> None:
    service.post("ts,src,dst,label\nsoon,a,b,x\n", CSV)
    url = "/api/v1/dead-letters/flows/0-0:replay"
    assert problem(service.post("", {}, url)) == (422, "columns-unknown")
    assert service.post(edge(1), JSON, url).json()["accepted"] == 1


def test_health_and_metrics_are_served() -> None:
    with serving(roles=frozenset({"http", "sequencer"})) as service:
        count_metrics()
        before = metrics_of(service.client.get("/metrics").text)
        service.post(edge(1) + "{\n")
        checks = {"schemas": "ok", "statements": "ok", "verdicts": "ok", "test.sequencer.flows": "ok"}
        wait_until(lambda: service.client.get("/readyz").json()["checks"] == {**checks, "log": "ok"}, 10, pause=0.01)
        assert service.client.get("/livez").json() == {"status": "alive", "checks": checks}
        assert service.client.get("/readyz").json() == {"status": "ready", "checks": {**checks, "log": "ok"}}
        after = metrics_of(service.client.get("/metrics").text)
        for outcome in ("accepted", "rejected"):
            name = f'graphtide_ingestion_edges_total{{graphtide_outcome="{outcome}",graphtide_stream="flows"}}'
            assert after[name] - before.get(name, 0) == 1
        assert after["graphtide_ingestion_sequencers"] == 1


def test_a_log_that_does_not_answer_makes_the_service_unready_and_says_so() -> None:
    log = Unwilling()
    with serving(log) as service:
        log.is_there = False
        answer = service.client.get("/readyz")
        assert problem(answer) == (503, "not-ready")
        assert answer.json()["checks"]["log"] == "the log does not answer"
        assert service.client.get("/livez").status_code == 200


class TestSchemas:
    def declare(self, service: Service, **attributes: stream_schema.Kind) -> None:
        """Declare types as the API does, and wait until ingestion knows."""
        record = SchemaRecord("flows", "declared", attributes)
        writer = service.log.writer()
        writer.write([Message(TOPICS.schemas, schema_key("flows", "declared"), encode_schema(record))])
        writer.flush(10)
        writer.close()

    def seen(self, service: Service) -> dict[str, stream_schema.Kind]:
        records = [record for record in service.records(TOPICS.schemas) if record.key == b"flows@seen"]
        return decode_schema(records[-1].key, records[-1].value).attributes if records else {}

    def test_what_is_declared_refuses_edges_with_other_values_in_every_format(self, service: Service) -> None:
        self.declare(service, n="integer", zip="string")
        wait_until(lambda: service.post(edge(1, n="x")).json()["rejected"] == 1, 10, pause=0.01)
        answer = service.post(edge(1, n=7) + edge(2, n=7.5)).json()
        assert (answer["accepted"], answer["rejected"]) == (1, 1)
        assert answer["errors"][0]["reason"] == 'n "7.5" is not of the type integer, which was declared'
        answer = service.post("ts,src,dst,label,zip,n\n1,a,b,x,7,7\n2,a,b,x,7,y\n", CSV).json()
        assert (answer["accepted"], answer["rejected"]) == (1, 1)
        assert raw.types_of(raw.decode(service.raw()[-1]).types) == {"zip": "string", "n": "integer"}
        assert 'n "y" is not of the type integer' in service.letters()[-1].reason

    def test_a_column_of_texts_in_one_body_is_one_in_the_next(self, service: Service) -> None:
        service.post("ts,src,dst,label,zip,n\n1,a,b,x,01234,7\n", CSV)
        assert self.seen(service) == {"zip": "string", "n": "integer"}
        service.post("ts,src,dst,label,zip,n\n2,a,b,x,77,7\n", CSV)
        assert [raw.types_of(raw.decode(record).types) for record in service.raw()] == [{"zip": "string"}] * 2

    def test_what_edges_show_is_kept_and_known_after_a_restart(self) -> None:
        log = MemoryLog()
        with serving(log) as service:
            service.post(edge(1, n=7))
            service.post(edge(1, n=7.5, m=True))
            service.post(edge(1, n=7))
            assert self.seen(service) == {"n": "number", "m": "boolean"}
        with serving(log) as service:
            service.post(edge(1, n=7))
            service.post(edge(1, t="x"))
            assert self.seen(service) == {"n": "number", "m": "boolean", "t": "string"}
            assert len(service.records(TOPICS.schemas)) == 3

    def test_edges_wait_until_schemas_are_known(self) -> None:
        log = MemoryLog()
        with serving(log) as service:
            self.declare(service, n="integer")
        with serving(log) as service:
            assert service.post(edge(1, n="x")).json()["rejected"] == 1
