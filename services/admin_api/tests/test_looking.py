"""Matches, streams, dead letters and counts are shown as they are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from graphtide_admin_api.application.following import Following
from graphtide_admin_api.application.matches import MatchFeed, RecentMatches
from graphtide_admin_api.entrypoints.events import EventStreams
from graphtide_core.ids import StreamName
from graphtide_core.plans import CountedPart
from graphtide_core.ports.log import Message, Position, TopicPartition
from graphtide_core.statistics import EdgeType, StatisticsSnapshot
from graphtide_log.memory import MemoryLog
from graphtide_ordering.positions import PartitionPosition
from graphtide_ordering.progress_reports import sequencer_of
from graphtide_ordering.stream_progress import Counted, FirstRejected, StreamProgress
from graphtide_query import parse_subgraphs
from graphtide_query.planner import plan
from graphtide_serving.clock import SystemClock
from graphtide_testing.telemetry import count_metrics, metrics_of
from graphtide_wire import control, dead_letters, matches, statistics
from graphtide_wire.place import Place
from graphtide_wire.plans import form_of
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_admin_api.application.following import Event
    from graphtide_core.ports.log import LogReader

    from conftest import Deployment

TEXT = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10"
TOPICS = Topics()
S = StreamName("s")


def report(log: MemoryLog, *numbers: int, name: str = "p") -> None:
    for number in numbers:
        body = f'{{"match_id":"{number}","query":"{name}","kind":"match","detected_at":0}}'.encode()
        log.writer().write([matches.encode(TOPICS.matches, body, 1, None)])


class CountingLog(MemoryLog):
    """A log in memory that counts its readers."""

    def __init__(self) -> None:
        super().__init__()
        self.readers = 0

    def reader(self, group: str | None) -> LogReader:
        self.readers += 1
        return super().reader(group)


def test_the_plan_says_which_estimates_counts_refuted(deployment: Deployment) -> None:
    assert deployment.http.post("/api/v1/patterns", json={"text": TEXT}).status_code == 201
    (pattern,) = parse_subgraphs(TEXT)
    evidence = (CountedPart(("x", "y"), 12.0, 3400.0),)
    record = control.PlanRecord(
        "p", 1, 1, "timing", "matcher_timing", 0, form_of(plan(pattern, "timing").physical, evidence=evidence),
        control.PatternText(TEXT), "running",
    )  # fmt: skip
    deployment.write(TOPICS.plans, b"p", control.encode_plan(record))
    deployment.until(lambda: deployment.http.get("/api/v1/patterns/p/plan").status_code == 200)
    assert "  counted: x, y estimated 12, counted 3,400" in deployment.http.get("/api/v1/patterns/p/plan?format=text").text


def ids(found: Sequence[Event]) -> list[int]:
    """Which matches these are, by the numbers they were reported with."""
    return [int(each.body.split(b'"')[3]) for each in found]


@pytest.fixture
def log() -> MemoryLog:
    found = MemoryLog()
    found.admin().ensure(TOPICS.of_deployment())
    return found


def fed(log: MemoryLog, recent: RecentMatches, back: int = 10_000) -> MatchFeed:
    feed = MatchFeed(log, TOPICS, SystemClock(), recent, back=back, linger_seconds=0.0)
    feed.open()
    feed.step()
    return feed


def test_the_newest_matches_are_shown_newest_first(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    deployment.report(1, 2, 3)
    deployment.report(9, name="other")
    path = "/api/v1/patterns/p/matches"
    deployment.until(lambda: len(deployment.http.get(path).json()["matches"]) == 3)
    found = deployment.http.get(path + "?limit=2").json()["matches"]
    assert [(each["place"], each["match"]["detected_at"]) for each in found] == [("0-2", 3), ("0-1", 2)]
    assert deployment.http.get(path + "?limit=0").status_code == 422


def test_a_match_is_listed_with_what_its_pattern_says(deployment: Deployment) -> None:
    text = f"{TEXT} SEVERITY high MESSAGE '{{a.id}} pays {{c.id}}'"
    assert deployment.http.post("/api/v1/patterns", json={"text": text}).status_code == 201
    for name in ("p", "gone"):
        vertices = '"vertices":{"a":"ann","b":"bob","c":"cid"}'
        body = f'{{"match_id":"1","query":"{name}","kind":"match","detected_at":0,"first_ts":0,"last_ts":0,{vertices}}}'
        deployment.log.writer().write([matches.encode(TOPICS.matches, body.encode(), 1, None)])
    deployment.until(lambda: len(deployment.http.get("/api/v1/matches").json()["matches"]) == 2)
    gone, kept = deployment.http.get("/api/v1/matches").json()["matches"]
    assert (kept["severity"], kept["message"]) == ("high", "ann pays cid")
    assert (gone["severity"], gone["message"]) == (None, None)
    assert deployment.http.get("/api/v1/patterns/p/matches").json()["matches"] == [kept]
    details = deployment.http.get("/api/v1/patterns/p/matches/0-0").json()
    assert {name: details[name] for name in kept} == kept


def test_who_follows_without_a_place_gets_what_is_reported_from_then_on(log: MemoryLog) -> None:
    recent = RecentMatches()
    report(log, 1)
    feed = fed(log, recent)
    following = Following(log, TOPICS.matches, recent, "p", recent.before_newest("p", 0))
    assert following.take() == []
    report(log, 2, 3)
    report(log, 4, name="other")
    feed.step()
    assert ids(following.take()) == [2, 3]
    assert following.take() == []


@pytest.mark.parametrize(("most", "back"), [(1_000, 10_000), (2, 10_000), (1_000, 3), (1, 1)])
def test_who_comes_back_gets_all_that_was_missed_once_kept_or_not(log: MemoryLog, most: int, back: int) -> None:
    report(log, *range(10))
    recent = RecentMatches(most)
    feed = fed(log, recent, back)
    following = Following(log, TOPICS.matches, recent, "p", Place(0, 4))
    found = following.take()
    report(log, 10)
    feed.step()
    assert ids([*found, *following.take()]) == [5, 6, 7, 8, 9, 10]


def test_what_was_read_from_the_log_without_finding_any_is_not_read_again() -> None:
    log = CountingLog()
    log.admin().ensure(TOPICS.of_deployment())
    report(log, *range(10), name="other")
    recent = RecentMatches()
    feed = fed(log, recent, back=1)
    before = log.readers
    following = Following(log, TOPICS.matches, recent, "p", Place(0, 0))
    assert [following.take() for _ in range(3)] == [[], [], []]
    assert log.readers == before + 1
    report(log, 10)
    feed.step()
    assert ids(following.take()) == [10]


def test_memory_for_matches_is_bounded(log: MemoryLog) -> None:
    report(log, *range(20))
    report(log, 20, name="other")
    recent = RecentMatches(most_bytes=300)
    fed(log, recent)
    kept = [*recent.newest("p", 100), *recent.newest("other", 100)]
    assert 0 < sum(len(each.body) for each in kept) <= 300
    assert recent.since("p", Place(0, 0)) is None


def test_events_carry_their_place_and_the_match(log: MemoryLog) -> None:
    async def first_two(streams: EventStreams) -> list[bytes]:
        recent = RecentMatches()
        report(log, 7)
        fed(log, recent)
        events = streams.events(Following(log, TOPICS.matches, recent, "p", Place(0, 0)))
        report(log, 8)
        found = [await anext(events)]
        fed(log, recent)
        found.append(await anext(events))
        await events.aclose()
        return found

    retry, event = asyncio.run(first_two(EventStreams(1, 1, 60.0)))
    assert retry == b"retry: 1000\n\n"
    assert event.startswith(b'id: 0-1\nevent: match\ndata: {"match_id":"8"')
    assert event.endswith(b"}\n\n")


def test_a_stream_of_events_where_nothing_comes_gives_signs_of_life(log: MemoryLog) -> None:
    recent = RecentMatches()
    fed(log, recent)

    async def second() -> bytes:
        events = EventStreams(1, 1, 0.0).events(Following(log, TOPICS.matches, recent, "p", None))
        await anext(events)
        return await anext(events)

    assert asyncio.run(second()) == b": nothing new\n\n"


@pytest.mark.parametrize("place", ["", "1", "a-b", "1-2-3", "-1-2", "1-" + "9" * 30, "²-1"])
def test_a_place_that_cannot_be_is_refused(asked_deployment: Deployment, place: str) -> None:
    asked_deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    with pytest.raises(ValueError, match=r"is not a place|cannot be"):
        Place.of(place)
    answer = asked_deployment.http.get(f"/api/v1/dead-letters/s/{place or '-'}")
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-place")


def test_streams_are_listed_with_their_patterns(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    deployment.writer.write([Message(TOPICS.ordered(S), None, b"edges", partition=0)])
    (stream,) = deployment.http.get("/api/v1/streams").json()["streams"]
    assert stream == {"name": "s", "partitions": 4, "first": 0, "end": 1, "dead_letters": 0, "patterns": ["p"], "parts": None}


def test_a_stream_is_shown_with_how_far_it_was_put_in_order(deployment: Deployment) -> None:
    path = "/api/v1/streams/s"
    assert deployment.http.get(path).status_code == 404
    deployment.log.admin().ensure(TOPICS.of_stream(S, partitions=2))
    assert deployment.http.get(path).json()["standing"] is None
    late = Counted(10_000, 9_990, 2, 2, 1, 4, 3, 1)
    first = FirstRejected("late", "late: ts 1", 1, 3, 2)
    emitted = StreamProgress(3, 2**62, 2**62 + 5, late, late, 1000, first=first)
    place = PartitionPosition(7, 7)
    committed = {TopicPartition(TOPICS.raw(S), 1): place.position(emitted, 8, 8, {})}
    transactor = deployment.log.transactor(sequencer_of(TOPICS, S))
    transactor.open()
    transactor.begin()
    transactor.commit(sequencer_of(TOPICS, S), committed)
    shown = deployment.http.get(path).json()
    assert (shown["name"], shown["partitions"]) == ("s", 2)
    note = shown["standing"].pop("note")
    assert shown["standing"] == {
        "epoch": 3, "watermark": 2**62, "newest": 2**62 + 5, "read": 10_000, "late": 9_990, "future": 2, "lateness": 1000,
        "ordered": 4, "duplicates": 3, "replaced": 1, "rejected": 2, "filtered": 1,
        "first": {"code": "late", "reason": "late: ts 1", "place": "1-3", "line": 2},
    }  # fmt: skip
    assert note.startswith("100% of the last edges were late")
    assert "POST /api/v1/streams/s:reset-watermark" in note


@pytest.mark.parametrize("metadata", ["", "{", '{"form":9,"next":1,"ordinal":1,"watermark":1,"ordered":1}'])
def test_a_stream_whose_position_cannot_be_read_is_shown_without_it(deployment: Deployment, metadata: str) -> None:
    deployment.log.admin().ensure(TOPICS.of_stream(S))
    transactor = deployment.log.transactor(sequencer_of(TOPICS, S))
    transactor.open()
    transactor.begin()
    transactor.commit(sequencer_of(TOPICS, S), {TopicPartition(TOPICS.raw(S), 0): Position(1, metadata)})
    assert deployment.http.get("/api/v1/streams/s").json()["standing"] is None


def test_the_newest_snapshot_of_a_stream_is_shown(deployment: Deployment) -> None:
    assert deployment.http.get("/api/v1/statistics/s").status_code == 404
    snapshot = StatisticsSnapshot(3, edges=5, vertices=2, types={EdgeType(None, "pays", None): 5})
    record = statistics.StatisticsRecord("s", 3, snapshot, 0.5)
    deployment.write(TOPICS.statistics, b"s", statistics.encode_statistics(record))
    deployment.until(lambda: deployment.http.get("/api/v1/statistics/s").status_code == 200)
    shown = deployment.http.get("/api/v1/statistics/s").json()
    assert (shown["stream"], shown["drift"], shown["edges"]) == ("s", 0.5, 5)


def test_dead_letters_are_shown_newest_first_and_one_by_one(deployment: Deployment) -> None:
    deployment.log.admin().ensure(TOPICS.of_stream(S))
    for raw in (b"first", b"\xff\xfe"):
        letter = dead_letters.DeadLetterRecord(
            raw, "malformed", "no JSON", "2024-01-01T00:00:00Z", dead_letters.Source("t", 1, 2, 3)
        )
        deployment.writer.write([dead_letters.encode(TOPICS.dead_letters(S), letter)])
    for path in ("/api/v1/dead-letters", "/api/v1/dead-letters?stream=s"):
        newest, oldest = deployment.http.get(path).json()["dead_letters"]
        assert (newest["raw"], newest["raw_base64"], oldest["raw"]) == (None, "//4=", "first")
        assert (oldest["code"], oldest["source_offset"], oldest["place"]) == ("malformed", 2, "0-0")
        assert (oldest["source_place"], newest["place"]) == ("1-2", "0-1")
    assert deployment.http.get("/api/v1/dead-letters?stream=s&limit=1").json()["dead_letters"] == [newest]
    assert deployment.http.get("/api/v1/dead-letters/s/0-0").json() == oldest
    assert deployment.http.get("/api/v1/dead-letters/s/0-9").status_code == 404
    assert deployment.http.get("/api/v1/dead-letters/s/7-0").status_code == 404
    assert deployment.http.get("/api/v1/dead-letters?stream=nothing-there").json() == {"dead_letters": [], "next": None}
    assert deployment.http.get("/api/v1/dead-letters?stream=No").json()["code"] == "bad-stream"


def test_requests_and_patterns_are_counted(deployment: Deployment) -> None:
    count_metrics()
    before = metrics_of(deployment.http.get("/metrics").text)
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    deployment.http.get("/nowhere/at/all")
    after = metrics_of(deployment.http.get("/metrics").text)
    assert after['graphtide_patterns{graphtide_state="pending"}'] == 1
    name = "http_server_request_duration_seconds_count"
    ends = 'network_protocol_version="1.1",url_scheme="http"'
    for labels in (
        f'http_request_method="POST",http_response_status_code="201",http_route="/api/v1/patterns",{ends}',
        f'http_request_method="GET",http_response_status_code="404",{ends}',
    ):
        assert after[f"{name}{{{labels}}}"] - before.get(f"{name}{{{labels}}}", 0) == 1


def test_the_process_says_that_it_lives_and_can_serve(deployment: Deployment) -> None:
    checks = {"view": "ok", "matches": "ok", "marks": "ok", "series": "ok"}
    assert deployment.http.get("/livez").json() == {"status": "alive", "checks": checks}
    assert deployment.http.get("/readyz").json() == {
        "status": "ready",
        "checks": {**checks, "log": "ok", "registrations": "ok"},
    }


def test_what_is_not_there_is_a_problem_document(deployment: Deployment) -> None:
    for answer, status in ((deployment.http.get("/nowhere"), 404), (deployment.http.post("/livez"), 405)):
        assert (answer.status_code, answer.json()["status"]) == (status, status)
        assert answer.headers["Content-Type"] == "application/problem+json"
