"""The first pattern of a stream says at once what may be misspelt, before the stream was counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.ids import StreamName
from graphtide_core.statistics import EdgeType, StatisticsSnapshot
from graphtide_core.time import EventTime, TimeUnit
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_wire import match_counts, ordered, statistics
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from conftest import Deployment

TOPICS = Topics()
PAYMENTS = StreamName("payments")


def send(deployment: Deployment, *labels: str) -> None:
    """Write an ordered record with an edge of each label."""
    deployment.log.admin().ensure(TOPICS.of_stream(PAYMENTS))
    lines = "".join(f'{{"ts":{ts},"src":"a","dst":"b","label":"{label}"}}\n' for ts, label in enumerate(labels))
    body = JsonLinesDecoder(Symbols(), [], {}).decode(lines.encode()).to_arrow()
    last = EventTime(len(labels) - 1)
    header = ordered.OrderedHeader(EventTime(0), last, len(labels), 0, last, TimeUnit.MILLISECOND)
    deployment.writer.write([ordered.encode(TOPICS.ordered(PAYMENTS), header, body)])


def register(deployment: Deployment, name: str, label: str, stream: str) -> list[str]:
    text = f"PATTERN {name} MATCH (a)-[x:{label}]->(b) ON {stream} WINDOW 10"
    answer = deployment.http.post("/api/v1/patterns", json={"text": text})
    assert answer.status_code == 201
    found: list[str] = answer.json()["warnings"]
    return found


def test_a_misspelt_label_is_reported_with_the_first_pattern(deployment: Deployment) -> None:
    send(deployment, "pays", "asks")
    assert register(deployment, "p", "pyas", "payments") == [
        "no edge of label 'pyas' among the last 2 edges; did you mean pays?"
    ]
    assert register(deployment, "q", "pays", "payments") == []


def test_a_misspelt_stream_is_reported_with_the_first_pattern(deployment: Deployment) -> None:
    send(deployment, "pays")
    assert register(deployment, "p", "pays", "paiments") == ["no edge of stream 'paiments' was seen; did you mean payments?"]
    assert register(deployment, "q", "pays", "other") == []


def test_an_end_that_cannot_be_read_is_not_a_reason_to_refuse_a_pattern(deployment: Deployment) -> None:
    deployment.log.admin().ensure(TOPICS.of_stream(PAYMENTS))
    deployment.write(TOPICS.ordered(PAYMENTS), b"", b"no arrow")
    assert register(deployment, "p", "pays", "payments") == []


def test_a_rare_label_that_the_stream_had_before_is_not_a_misspelt_one(deployment: Deployment) -> None:
    snapshot = StatisticsSnapshot(edges=33, types={EdgeType(None, "4624", None): 33})

    def warned() -> bool:
        return bool(deployment.http.get("/api/v1/patterns/p").json()["warnings"])

    register(deployment, "p", "`4648`", "payments")
    for number, labels in enumerate([(), ("4624", "4648"), ()], 1):
        record = statistics.StatisticsRecord("payments", number, snapshot, labels=labels)
        deployment.write(TOPICS.statistics, b"payments", statistics.encode_statistics(record))
        deployment.until(lambda: warned() == (not labels))  # noqa: B023 - it is asked within the round


def test_a_pattern_that_has_matches_is_not_warned_of_its_labels(deployment: Deployment) -> None:
    register(deployment, "p", "`4648`", "payments")
    snapshot = StatisticsSnapshot(edges=33, types={EdgeType(None, "4624", None): 33})
    record = statistics.StatisticsRecord("payments", 1, snapshot)
    deployment.write(TOPICS.statistics, b"payments", statistics.encode_statistics(record))

    def warned() -> bool:
        return bool(deployment.http.get("/api/v1/patterns/p").json()["warnings"])

    deployment.until(warned)
    version = deployment.http.get("/api/v1/patterns/p").json()["version"]
    deployment.write(TOPICS.counts, b"p", match_counts.encode_counts(match_counts.CountsRecord("p", {version: 2})))
    deployment.until(lambda: not warned())
