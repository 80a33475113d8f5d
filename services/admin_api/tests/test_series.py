"""Time series: rings against the values that they were given, and what is sampled of streams and patterns."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_admin_api.application.sampling import StreamSample
from graphtide_admin_api.application.series import SeriesStore
from graphtide_admin_api.domain.time_series import COARSE_STEP, FINE_STEP, Ring, SeriesKey, TimeSeries
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import TopicPartition
from graphtide_ordering.positions import PartitionPosition
from graphtide_ordering.progress_reports import sequencer_of
from graphtide_ordering.stream_progress import Counted, StreamProgress
from graphtide_wire.topics import Topics
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from conftest import Deployment

TOPICS = Topics()
TEXT = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10"


@given(
    size=st.integers(1, 8),
    step=st.integers(1, 5),
    given=st.lists(st.tuples(st.integers(0, 60), st.integers(-9, 9)), max_size=30),
    start=st.integers(0, 70),
    length=st.integers(0, 70),
)
def test_a_ring_has_the_last_value_of_each_step(
    size: int, step: int, given: list[tuple[int, int]], start: int, length: int
) -> None:
    ring, known, newest = Ring(step, size), dict[int, int](), -1
    for at, value in given:
        ring.put(at, value)
        if at // step > newest - size:
            known[at // step] = value
        newest = max(newest, at // step)
        known = {number: each for number, each in known.items() if number > newest - size}
    shown = [number for number in range(100) if start <= number * step < start + length][-size:]
    stop = math.ceil((start + length) / step)
    asked = [(number * step, known.get(number)) for number in shown if number >= stop - size]
    assert ring.points(start, start + length) == asked


def test_a_week_has_the_means_of_what_was_seen() -> None:
    series = TimeSeries()
    for number in range(120):
        series.put(number * FINE_STEP, number)
    assert series.coarse.points(0, 2 * COARSE_STEP) == [(0, 29.5), (COARSE_STEP, 89.5)]
    assert series.fine.points(0, 10) == [(0, 0.0), (5, 1.0)]


def test_series_are_bounded_and_those_of_what_is_gone_go() -> None:
    store, keys = SeriesStore(2), [SeriesKey("edges", name) for name in "abc"]
    present = {(name, None) for name in "abc"}
    store.take(0, dict.fromkeys(keys, 1.0), present)
    shown = store.show((), None, None, (0, 5), is_fine=True)
    assert ([key for key, _ in shown.series], shown.left_out) == (keys[:2], 1)
    store.take(5, {keys[2]: 2.0}, present - {("a", None)})
    shown = store.show((), None, None, (0, 10), is_fine=True)
    assert shown.series == [(keys[1], [(0, 1.0), (5, None)]), (keys[2], [(0, None), (5, 2.0)])]
    assert store.show({"late"}, None, None, (0, 10), is_fine=True).series == []


def test_a_sample_knows_since_when_nothing_was_read_and_since_when_the_watermark_stands() -> None:
    def progress(read: int, watermark: int) -> StreamProgress:
        return StreamProgress(0, watermark, watermark, Counted(read=read))

    sample = StreamSample(0, progress(1, 5), 1, 0)
    sample = sample.followed_by(5, progress(1, 5), 4)
    assert (sample.unread_since, sample.stands_since, sample.read_at) == (5, None, 0)
    sample = sample.followed_by(10, progress(1, 5), 9)
    assert sample.unread_since == 5
    sample = sample.followed_by(15, progress(2, 5), 9)
    assert (sample.unread_since, sample.stands_since, sample.read_at) == (None, 15, 15)
    assert sample.followed_by(20, progress(3, 6), 9).stands_since is None


def order(deployment: Deployment, counted: Counted, newest: int) -> None:
    """Commit how far a stream was put in order, as its sequencer would."""
    stream = StreamName("s")
    progress = StreamProgress(0, newest - 2_000, newest, counted, counted, 2_000)
    committed = {TopicPartition(TOPICS.raw(stream), 0): PartitionPosition(7, 7).position(progress, 8, 8, {})}
    transactor = deployment.log.transactor(sequencer_of(TOPICS, stream))
    transactor.open()
    transactor.begin()
    transactor.commit(sequencer_of(TOPICS, stream), committed)


def read_known(deployment: Deployment, query: str = "") -> dict[tuple[str, str | None, str | None], list[float]]:
    """Return the known values of each series."""
    found = deployment.http.get(f"/api/v1/series{query}").json()["series"]
    values = {(each["name"], each["stream"], each["pattern"]): each["points"] for each in found}
    return {key: [value for _, value in points if value is not None] for key, points in values.items()}


def test_streams_and_patterns_are_sampled(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    deployment.publish()
    deployment.say("running")
    now = int(time.time() * 1_000)
    order(deployment, Counted(read=10, ordered=10), now)
    deployment.until(lambda: ("watermark_lag", "s", None) in read_known(deployment))
    order(deployment, Counted(read=120, ordered=100, late=5, future=1, rejected=4, duplicates=10), now)
    deployment.report(1, 2, 3)
    wait = 4 * FINE_STEP
    end = time.monotonic() + wait
    while time.monotonic() < end and not any(read_known(deployment).get(("rejected", "s", None), [])):
        time.sleep(0.2)
    found = read_known(deployment)
    for name, count in (("edges", 90), ("late", 6), ("rejected", 4), ("duplicates", 10)):
        assert max(found[name, "s", None]) > 0, name
        assert max(found[name, "s", None]) == pytest.approx(count / 90 * max(found["edges", "s", None]), rel=1e-4)
    assert max(found["matches", "s", "p"]) == max(found["matches", None, None]) > 0
    assert max(found["edges", None, None]) == pytest.approx(max(found["edges", "s", None]))
    assert found["partial_matches", "s", "p"][-1] == 5
    assert all(2 <= each < 3_600 for each in found["watermark_lag", "s", None])
    assert found["lag", "s", "p"][-1] == 0
    assert set(read_known(deployment, "?pattern=p")) == {(name, "s", "p") for name in ("lag", "matches", "partial_matches")}
    assert set(read_known(deployment, "?names=edges,%20late&stream=s")) == {("edges", "s", None), ("late", "s", None)}


def test_the_span_chooses_the_step(deployment: Deployment) -> None:
    def asked(query: str) -> tuple[Any, ...]:
        shown = deployment.http.get(f"/api/v1/series?{query}").json()
        return shown["step"], shown["from"] % shown["step"]

    assert asked("last=3600") == (FINE_STEP, 0)
    assert asked("last=3700") == (COARSE_STEP, 0)
    assert asked("from=1000&to=2000") == (COARSE_STEP, 0)
    assert deployment.http.get("/api/v1/series?from=1001&to=2000").json()["from"] == 1200


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("names=edges,weight", "unknown-series"),
        ("last=5&from=3", "invalid-range"),
        ("from=5&to=5", "invalid-range"),
        ("from=0", "invalid-range"),
        ("last=0", "invalid-request"),
        ("last=nan", "invalid-request"),
        ("step=5", "unknown-parameter"),
    ],
)
def test_a_span_that_is_none_is_refused(empty_deployment: Deployment, query: str, code: str) -> None:
    answer = empty_deployment.http.get(f"/api/v1/series?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, code)
