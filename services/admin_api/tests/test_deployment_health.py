"""Health with reasons: what is wrong with patterns, streams and hosts, the worst first, and what helps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec
import pytest
from graphtide_admin_api.domain import deployment_health as health
from graphtide_admin_api.domain.pattern_status import PatternStatus
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message
from graphtide_ordering.stream_progress import Counted, StreamProgress
from graphtide_testing.wire_examples import PATTERN
from graphtide_wire import hosts
from graphtide_wire.topics import Topics
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from conftest import Deployment

TOPICS = Topics()
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10"


@pytest.mark.parametrize(
    ("status", "age", "codes"),
    [
        (PatternStatus("running"), 100, []),
        (PatternStatus("running", "it stands still"), 0, ["pattern-degraded"]),
        (PatternStatus("failed", "no memory"), 0, ["pattern-failed"]),
        (PatternStatus("paused"), 100, []),
        (PatternStatus("paused", "limit of 5 partial matches"), 0, ["pattern-limited"]),
        (PatternStatus("pending"), 59, []),
        (PatternStatus("pending"), 61, ["pattern-pending"]),
        (PatternStatus("moving"), 100, []),
    ],
)
def test_a_pattern_is_found_by_its_state_and_reason(status: PatternStatus, age: float, codes: list[str]) -> None:
    record = msgspec.structs.replace(PATTERN, updated_at=NOW - timedelta(seconds=age))
    found = list(health.of_pattern(record, status, NOW))
    assert [each.code for each in found] == codes
    assert all(record.name in each.sentence and (status.reason or "") in each.sentence for each in found)


@given(read=st.integers(0, 10_000), rejected=st.integers(0, 10_000), late=st.integers(0, 10_000))
def test_records_are_found_if_more_than_a_hundredth_of_the_last_ones_is_lost(read: int, rejected: int, late: int) -> None:
    recent = Counted(read=read, rejected=rejected, late=late)
    codes = {each.code for each in health.of_progress("s", StreamProgress(0, recent=recent))}
    seen = max(read, rejected)
    asked = {"records-rejected": rejected, "records-late": late}
    assert codes == {code for code, count in asked.items() if seen >= 100 and 100 * count > seen}


@pytest.mark.parametrize(
    ("unread", "stands", "codes"),
    [(None, None, []), (29, 59, []), (30, None, ["stream-unread"]), (None, 60, ["watermark-stands"])],
)
def test_ordering_is_found_where_nobody_reads_or_the_watermark_stands(
    unread: float | None, stands: float | None, codes: list[str]
) -> None:
    assert [each.code for each in health.of_ordering("s", unread, stands)] == codes


@pytest.mark.parametrize(
    ("silent", "lag", "plans", "codes"),
    [(0, 0, 3, []), (30, 0, 3, ["matcher-silent"]), (30, 99, 0, []), (0, 30, 3, ["matcher-lags"]), (0, 29, 3, [])],
)
def test_a_host_is_found_where_it_is_silent_or_late(silent: float, lag: float, plans: int, codes: list[str]) -> None:
    host = hosts.HostRecord("m", 0, NOW - timedelta(seconds=silent), 0.5, 1, (hosts.StreamPlace("s", 3, lag),))
    assert [each.code for each in health.of_host(host, plans, NOW)] == codes


def test_the_worst_comes_first(deployment: Deployment) -> None:
    path = "/api/v1/health"
    empty = deployment.http.get(path).json()
    assert (empty["state"], empty["findings"], empty["more"]) == ("ok", [], 0)
    assert {each["name"]: each["state"] for each in empty["services"]} == {"planner": "unknown", "sequencer": "unknown"}
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    deployment.publish()
    deployment.say("paused", reason="it reached its limit of 5 partial matches")
    deployment.until(lambda: deployment.http.get(path).json()["state"] == "degraded")
    deployment.say("failed", reason="it cannot run")
    host = hosts.HostRecord("matcher_timing", 0, NOW, 0.5, 1)
    deployment.write(TOPICS.hosts, hosts.host_key(host), hosts.encode_host(host))
    deployment.until(lambda: len(deployment.http.get(path).json()["findings"]) == 2)
    found = deployment.http.get(path).json()
    assert found["state"] == "failing"
    assert [(each["code"], each["subject"]) for each in found["findings"]] == [
        ("matcher-silent", {"kind": "matcher", "name": "matcher_timing.0"}),
        ("pattern-failed", {"kind": "pattern", "name": "p"}),
    ]
    assert found["findings"][1]["sentence"] == "Pattern p has failed: it cannot run"
    matcher = {"name": "matcher_timing.0", "state": "silent", "seen": "2026-01-01T00:00:00Z"}
    assert matcher in found["services"]


def test_a_stream_that_nobody_orders_is_unread(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "UNREAD_SECONDS", 0.0)
    stream = StreamName("s")
    deployment.log.admin().ensure(TOPICS.of_stream(stream))
    deployment.writer.write([Message(TOPICS.raw(stream), None, b"{}")])
    deployment.until(lambda: bool(deployment.http.get("/api/v1/health").json()["findings"]))
    (found,) = deployment.http.get("/api/v1/health").json()["findings"]
    assert (found["code"], found["subject"]) == ("stream-unread", {"kind": "stream", "name": "s"})
