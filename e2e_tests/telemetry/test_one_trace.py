"""A trace follows an edge from its request to the match that it ends, with edges of other traces on the way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import httpx2
import pytest
from graphtide.dev.deployment import DevOptions, application
from graphtide_core.ports.log import Message
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_telemetry import attributes, metrics, spans
from graphtide_telemetry.names import Metric, Name, SpanName, entries
from graphtide_testing.serving import serve
from graphtide_testing.telemetry import OtlpReceiver, count_metrics, metrics_of, spans_in_memory
from graphtide_testing.waiting import wait_until
from graphtide_testing.whole import PATIENCE, Whole
from graphtide_wire.topics import Topics
from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from graphtide_core.ports.log import Record
    from graphtide_testing.telemetry import EndedSpan

TEXT = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10m"
NDJSON = {"content-type": "application/x-ndjson"}
FIRST = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SECOND = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
STAGES = ["sequence", "match", "report"]
UNSAMPLED = "00-1cf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"


def pays(ts: int, source: str, target: str) -> bytes:
    edge = {"ts": ts, "src": source, "dst": target, "label": "pays", "id": f"{source}{target}"}
    return json.dumps(edge).encode() + b"\n"


def trace_of(traceparent: str) -> str:
    return traceparent.split("-")[1]


def find_span(found: Iterable[EndedSpan], name: str, traceparent: str) -> EndedSpan:
    """Return the one span of a trace whose name begins so."""
    (span,) = (each for each in found if each.name.startswith(name) and each.trace_id == trace_of(traceparent))
    return span


def have_ended(found: Iterable[EndedSpan], names: Iterable[str], traceparent: str) -> bool:
    """Return whether a trace has spans of all these names: each process sends its own, when it gets there."""
    of_trace = [each.name for each in found if each.trace_id == trace_of(traceparent)]
    return all(any(each.startswith(name) for each in of_trace) for name in names)


def is_one_chain(found: Iterable[EndedSpan], topics: Topics, traceparent: str) -> EndedSpan:
    """Check that a trace goes from the request to the match as one line; return its last span."""
    names = {
        "POST": "POST /api/v1/streams/{stream}/edges",
        "send": f"send {topics.prefix}.in.s.v1",
        "sequence": f"sequence {topics.prefix}.in.s.v1",
        "match": f"match {topics.prefix}.ordered.s.v1",
        "report": f"report {topics.matches}",
    }
    line = [find_span(found, name, traceparent) for name in names]
    assert [each.name for each in line] == list(names.values())
    assert [each.role for each in line] == ["server", "producer", "consumer", "consumer", "producer"]
    parents = [traceparent.split("-")[2], *(each.span_id for each in line[:-1])]
    assert [each.parent_id for each in line] == parents
    return line[-1]


class TestInOneProcess:
    @pytest.fixture(autouse=True)
    def deployment(self) -> Iterable[None]:
        count_metrics()
        with serve(application(DevOptions())) as url, httpx2.Client(base_url=url, timeout=30) as client:
            self.client = client
            assert client.post("/api/v1/patterns", json={"text": TEXT}).status_code == 201
            self.send(pays(1, "z", "y"))
            wait_until(lambda: client.get("/api/v1/patterns/p").json()["state"] == "running", PATIENCE)
            yield

    def send(self, lines: bytes, **headers: str) -> None:
        answer = self.client.post("/api/v1/streams/s/edges", content=lines, headers={**NDJSON, **headers})
        assert answer.json()["accepted"] == lines.count(b"\n"), answer.text

    def test_a_traced_edge_leads_to_its_match_and_one_that_is_not_leaves_no_trace(self) -> None:
        before = self.reported()
        with spans_in_memory() as spans_seen:
            self.send(pays(10, "a", "b"), traceparent=UNSAMPLED)
            self.send(pays(11, "b", "c") + pays(12, "k", "l"), traceparent=FIRST)
            self.send(pays(13, "l", "m"))
            wait_until(lambda: any(each.name.startswith("report") for each in spans_seen.ended()), PATIENCE)
            wait_until(lambda: self.reported() - before == 2, PATIENCE)
            found = spans_seen.ended()
        is_one_chain(found, Topics(), FIRST)
        assert {each.trace_id for each in found} == {trace_of(FIRST)}
        assert [each.attributes["graphtide.pattern"] for each in found if each.name.startswith("report")] == ["p"]

    def test_what_is_reported_is_in_the_registry(self) -> None:
        with spans_in_memory() as spans_seen:
            self.send(pays(10, "a", "b") + pays(11, "b", "c"), traceparent=FIRST)
            wait_until(lambda: any(each.name.startswith("report") for each in spans_seen.ended()), PATIENCE)
            found = spans_seen.ended()
        kinds = {each.operation: each for each in entries(vars(spans), SpanName)}
        for each in found:
            kind = kinds.get(each.name.split(" ")[0], spans.REQUEST)
            assert set(each.attributes) <= {str(name) for name in kind.attributes}
        registered = {metric.name.replace(".", "_") for metric in entries(vars(metrics), Metric)}
        families = [
            each for each in text_string_to_metric_families(self.client.get("/metrics").text) if each.name != "target_info"
        ]
        unknown = {each.name for each in families if not any(each.name.startswith(name) for name in registered)}
        assert not unknown
        labels = {str(name).replace(".", "_") for name in entries(vars(attributes), Name)} | {"le"}
        assert {label for each in families for sample in each.samples for label in sample.labels} <= labels

    def reported(self) -> float:
        name = 'graphtide_pattern_matches_total{graphtide_match_kind="match",graphtide_pattern="p"}'
        return metrics_of(self.client.get("/metrics").text).get(name, 0)

    def test_one_process_reports_all_its_workers(self) -> None:
        families = ("timing", "sjtree", "simulation", "event_pattern", "algebra")
        matchers = (f"matcher_{each}.0" for each in families)
        workers = ("sequencer.s", "planner", "statistics", "match-counts", "alerts", *matchers, "backfill")
        checks = dict.fromkeys(
            [
                "view",
                "matches",
                "marks",
                "series",
                "schemas",
                "statements",
                "verdicts",
                *(f"graphtide.{each}" for each in workers),
            ],
            "ok",
        )
        ready = {**checks, "log": "ok", "registrations": "ok"}
        wait_until(
            lambda: self.client.get("/readyz").json() == {"status": "ready", "checks": ready},
            PATIENCE,
            lambda: self.client.get("/readyz").text,
        )
        assert self.client.get("/livez").json() == {"status": "alive", "checks": checks}


def wait_for(holds: Callable[[], bool], receiver: OtlpReceiver) -> None:
    """Wait; if it does not come, raise with the spans, metrics and events that came."""

    def describe() -> str:
        spans_seen = sorted((each.trace_id, each.name) for each in receiver.ended())
        return f"{spans_seen}, {sorted(receiver.metrics)}, {sorted(receiver.events)}"

    wait_until(holds, PATIENCE, describe)


@pytest.mark.integration
def test_over_kafka_one_trace_goes_through_every_process_and_into_the_match(tmp_path: Path) -> None:
    with OtlpReceiver() as receiver:
        configured = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
            "OTEL_BSP_SCHEDULE_DELAY": "200",
            "OTEL_METRIC_EXPORT_INTERVAL": "500",
        }
        whole = Whole(tmp_path, surroundings=configured)
        try:
            whole.start()
            whole.register(TEXT)
            topics = whole.deployment.topics
            # An edge is sent once the one before it is in order: with a lateness of 0, an edge read after a newer one is late.
            whole.send("s", pays(10, "a", "b"))
            whole.settle("s")
            whole.send("s", pays(11, "b", "c"), traceparent=FIRST)
            wait_for(lambda: have_ended(receiver.ended(), ["POST", "send", *STAGES], FIRST), receiver)
            log = KafkaLog(KafkaConnection(whole.deployment.kafka.bootstrap))
            writer = log.writer()
            headers = (("content-type", b"application/x-ndjson"), ("traceparent", SECOND.encode()))
            writer.write([Message(f"{topics.prefix}.in.s.v1", None, pays(12, "c", "d"), headers, partition=0)])
            writer.flush(10)
            writer.close()
            wait_for(lambda: have_ended(receiver.ended(), STAGES, SECOND), receiver)
            carried = traceparents(log, topics)
            found = receiver.ended()
            wait_for(lambda: {"graphtide.sequencer.edges", "graphtide.pattern.matches"} <= receiver.metrics, receiver)
            wait_for(lambda: {"plan.published", "work.opened"} <= receiver.events, receiver)
        finally:
            whole.end()
    last = is_one_chain(found, topics, FIRST)
    assert {each.service for each in found if each.trace_id == trace_of(FIRST)} == {
        "graphtide-ingestion",
        "graphtide-matcher_timing-0",
    }
    straight = find_span(found, "report", SECOND)
    sequenced = find_span(found, "sequence", SECOND)
    assert (sequenced.parent_id, sequenced.links) == (SECOND.split("-")[2], (SECOND.split("-")[2],))
    assert carried == [last.traceparent, straight.traceparent]


def traceparents(log: KafkaLog, topics: Topics) -> list[str]:
    """Return the traceparents that match records carry."""
    reader = log.reader(None)
    reader.assign(dict.fromkeys(reader.partitions(topics.matches), 0))
    records: list[Record] = []

    def is_there() -> bool:
        records.extend(reader.poll(1.0, 100))
        return len(records) >= 2

    wait_until(is_there, PATIENCE)
    reader.close()
    return [dict(each.headers)["traceparent"].decode() for each in records]
