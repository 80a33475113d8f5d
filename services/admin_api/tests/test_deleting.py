"""Streams are deleted with all that is kept of them, and only if no pattern reads them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import FencedError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, Position, TopicPartition, TopicSpec
from graphtide_core.statistics import EdgeType, StatisticsSnapshot
from graphtide_ordering.progress_reports import sequencer_of
from graphtide_testing.registrations import registration
from graphtide_wire import control, statistics
from graphtide_wire.reads_form import LookbackForm, ReadsForm
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from httpx2 import Response

    from conftest import Deployment

TOPICS = Topics()
S = StreamName("s")
TEXT = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10"
VIEW = "GRAPH VIEW a_b AS (\nCONSTRUCT (x)-[:near]->(y)\nMATCH (x)-[:a]->(y) ON s WINDOW(5m))"
RAW = TopicPartition(TOPICS.raw(S), 0)


def problem(answer: Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def fill(deployment: Deployment) -> None:
    """Put something into everything that is kept of a stream."""
    deployment.log.admin().ensure(TOPICS.of_stream(S))
    for topic in (TOPICS.raw(S), TOPICS.ordered(S), TOPICS.dead_letters(S)):
        deployment.writer.write([Message(topic, None, b"x", partition=0)])
    transactor = deployment.log.transactor(sequencer_of(TOPICS, S))
    transactor.open()
    transactor.begin()
    transactor.commit(sequencer_of(TOPICS, S), {RAW: Position(1)})
    snapshot = StatisticsSnapshot(3, edges=5, vertices=2, types={EdgeType(None, "pays", None): 5})
    record = statistics.StatisticsRecord("s", 3, snapshot, 0.5)
    deployment.write(TOPICS.statistics, b"s", statistics.encode_statistics(record))
    deployment.until(lambda: deployment.http.get("/api/v1/statistics/s").status_code == 200)
    deployment.http.put("/api/v1/streams/s/schema", json={"attributes": {"n": "integer"}})


def test_a_deleted_stream_is_gone_with_all_that_was_kept_of_it(deployment: Deployment) -> None:
    fill(deployment)
    deployment.report(1)
    assert deployment.http.delete("/api/v1/streams/s").status_code == 204
    assert deployment.http.get("/api/v1/streams").json() == {"streams": []}
    assert problem(deployment.http.get("/api/v1/streams/s")) == (404, "not-found")
    deployment.until(lambda: deployment.http.get("/api/v1/statistics/s").status_code == 404)
    deployment.until(lambda: deployment.http.get("/api/v1/streams/s/schema").json()["attributes"] == [])
    assert problem(deployment.http.delete("/api/v1/streams/s")) == (404, "not-found")
    deployment.log.admin().ensure(TOPICS.of_stream(S))
    reader = deployment.log.reader(sequencer_of(TOPICS, S))
    assert reader.committed([RAW]) == {RAW: None}
    assert reader.ends([RAW]) == {RAW: (0, 0)}
    place = TopicPartition(TOPICS.matches, 0)
    assert reader.ends([place]) == {place: (0, 1)}, "what was reported stays"


def test_a_stream_that_is_read_is_not_deleted(deployment: Deployment) -> None:
    fill(deployment)
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    refused = deployment.http.delete("/api/v1/streams/s")
    assert (problem(refused), refused.json()["patterns"]) == ((409, "stream-in-use"), ["p"])
    deployment.publish()
    operation = deployment.http.post("/api/v1/patterns/p:backfill", json={}).json()["id"]
    deployment.http.delete("/api/v1/patterns/p", headers={"If-Match": "*"})
    refused = deployment.http.delete("/api/v1/streams/s")
    assert problem(refused) == (409, "stream-in-use")
    assert operation in refused.json()["detail"]
    assert deployment.end() == 1, "nothing was lost by asking"


def test_a_stream_whose_patterns_are_being_stopped_is_not_deleted_yet(deployment: Deployment) -> None:
    fill(deployment)
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    deployment.publish()
    deployment.until(lambda: deployment.http.get("/api/v1/patterns/p").json()["placement"] is not None)
    deployment.http.delete("/api/v1/patterns/p", headers={"If-Match": "*"})
    refused = deployment.http.delete("/api/v1/streams/s")
    assert (problem(refused), refused.headers["Retry-After"]) == ((409, "stream-in-use"), "1")
    deployment.write(TOPICS.plans, b"p", None)
    deployment.until(lambda: deployment.http.delete("/api/v1/streams/s").status_code == 204)


def test_who_put_the_stream_in_order_writes_no_more(deployment: Deployment) -> None:
    fill(deployment)
    sequencer = deployment.log.transactor(sequencer_of(TOPICS, S))
    sequencer.open()
    sequencer.begin()
    sequencer.write([Message(TOPICS.ordered(S), None, b"of the old stream", partition=0)])
    deployment.http.delete("/api/v1/streams/s")
    registered = deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    assert registered.json()["start"] == 0, "a stream of the same name begins anew"
    with pytest.raises(FencedError):
        sequencer.commit(sequencer_of(TOPICS, S), {RAW: Position(7)})
    assert deployment.end() == 0


def test_merged_streams_go_with_each_stream_that_they_consist_of(deployment: Deployment) -> None:
    fill(deployment)
    others = [StreamName(name) for name in ("r", "r.s", "r.t", "s.t")]
    deployment.log.admin().ensure([spec for name in others for spec in TOPICS.of_stream(name)])
    merger = deployment.log.transactor(sequencer_of(TOPICS, StreamName("r.s")))
    merger.open()
    merger.begin()
    assert deployment.http.delete("/api/v1/streams/s").status_code == 204
    assert [each["name"] for each in deployment.http.get("/api/v1/streams").json()["streams"]] == ["r", "r.t"]
    with pytest.raises(FencedError):
        merger.commit(sequencer_of(TOPICS, StreamName("r.s")), {})
    assert deployment.http.delete("/api/v1/streams/r.t").status_code == 204
    assert [each["name"] for each in deployment.http.get("/api/v1/streams").json()["streams"]] == ["r"]


@pytest.mark.parametrize("stream", ["s", "r", "r.s"])
def test_a_stream_that_is_read_with_others_is_not_deleted(deployment: Deployment, stream: str) -> None:
    fill(deployment)
    deployment.log.admin().ensure([spec for name in ("r", "r.s") for spec in TOPICS.of_stream(StreamName(name))])
    reads = ReadsForm((StreamName("s"), StreamName("r")), LookbackForm("10"), None, ())
    record = registration(TEXT, datetime(2026, 1, 1, tzinfo=UTC), reads=reads, stream="r.s")
    deployment.write(TOPICS.patterns, b"p", control.encode_pattern(record))
    refused = deployment.http.delete(f"/api/v1/streams/{stream}")
    assert (problem(refused), refused.json()["patterns"]) == ((409, "stream-in-use"), ["p"])


def test_a_pattern_that_reads_several_streams_continues_where_the_merged_one_ends(deployment: Deployment) -> None:
    streams, merged = (StreamName("s"), StreamName("r")), StreamName("r.s")
    deployment.log.admin().ensure(TOPICS.of_stream(merged))
    deployment.writer.write([Message(TOPICS.ordered(merged), None, b"x", partition=0)])
    reads = ReadsForm(streams, LookbackForm("10"), None, ())
    now = datetime(2026, 1, 1, tzinfo=UTC)
    for name, stream in (("p", merged), ("long", StreamName(".".join(letter * 99 for letter in "rst")))):
        record = registration(TEXT, now, name=name, reads=reads, stream=stream, state="paused")
        deployment.write(TOPICS.patterns, name.encode(), control.encode_pattern(record))
    deployment.until(lambda: deployment.http.get("/api/v1/patterns/long").status_code == 200)
    assert deployment.http.post("/api/v1/patterns/p:resume").json()["start"] == 1
    there = set(deployment.log.admin().topics())
    assert {spec.name for name in (*streams, merged) for spec in TOPICS.of_stream(name)} <= there
    refused = deployment.http.post("/api/v1/patterns/long:resume")
    assert problem(refused) == (422, "invalid-pattern")
    assert "merge fewer streams" in refused.json()["detail"]


def test_a_merged_stream_is_shown_without_partitions_and_has_no_schema_of_its_own(deployment: Deployment) -> None:
    deployment.log.admin().ensure(TOPICS.of_stream(StreamName("r.s")))
    shown = deployment.http.get("/api/v1/streams/r.s").json()
    assert (shown["name"], shown["partitions"], shown["dead_letters"]) == ("r.s", 0, 0)
    assert problem(deployment.http.get("/api/v1/streams/s.r")) == (400, "bad-stream")
    refused = deployment.http.put("/api/v1/streams/r.s/schema", json={"attributes": {"n": "integer"}})
    assert problem(refused) == (400, "bad-stream")


def test_a_deletion_that_broke_off_is_completed_by_another(deployment: Deployment) -> None:
    fill(deployment)
    topics = sorted(spec.name for spec in TOPICS.of_stream(S))
    for gone in (topics[:1], topics):
        deployment.log.admin().delete(gone)
        assert deployment.http.delete("/api/v1/streams/s").status_code == 204
        deployment.until(lambda: deployment.http.get("/api/v1/statistics/s").status_code == 404)
        assert deployment.http.get("/api/v1/streams").json() == {"streams": []}
        fill(deployment)


def test_only_who_administers_deletes_streams(deployment: Deployment) -> None:
    fill(deployment)
    for key, status in (("", 401), ("reader", 403), ("writer", 403)):
        assert deployment.http.delete("/api/v1/streams/s", headers={"X-API-Key": key}).status_code == status
    assert problem(deployment.http.delete("/api/v1/streams/S")) == (400, "bad-stream")


def test_a_pattern_or_view_whose_stream_collides_with_another_is_refused_and_nothing_is_made(deployment: Deployment) -> None:
    """Beside a merged stream under its old name."""
    deployment.log.admin().ensure([TopicSpec("graphtide.ordered.a.b.v1"), TopicSpec("graphtide.dlq.a.b.v1")])
    before = deployment.log.admin().topics()
    for text in (TEXT.replace(" ON s ", " ON a_b "), VIEW):
        refused = deployment.http.post("/api/v1/patterns", json={"text": text})
        assert problem(refused) == (409, "name-collides"), refused.text
        assert "cannot be made beside graphtide." in refused.json()["detail"]
    assert [each for each in deployment.log.admin().topics() if "a_b" in each] == []
    assert set(before) <= set(deployment.log.admin().topics())


def test_a_merged_stream_under_its_old_name_is_shown_and_deleted_as_any(deployment: Deployment) -> None:
    fill(deployment)
    deployment.log.admin().ensure([TopicSpec("graphtide.ordered.r.s.v1"), TopicSpec("graphtide.dlq.r.s.v1")])
    assert [each["name"] for each in deployment.http.get("/api/v1/streams").json()["streams"]] == ["r.s", "s"]
    assert deployment.http.delete("/api/v1/streams/s").status_code == 204
    assert [each for each in deployment.log.admin().topics() if ".s.v1" in each] == []
