"""Matcher services are shown with what their shards cost and what was decided of how many there are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from graphtide_wire import hosts
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from conftest import Deployment

TOPICS = Topics()
AT = datetime(2024, 1, 1, tzinfo=UTC)
TEXT = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10"


def say(deployment: Deployment, shard: int, busy: float) -> None:
    record = hosts.HostRecord("matcher_timing", shard, AT, busy, 1000, (hosts.StreamPlace("s", 3, 0.5),))
    deployment.write(TOPICS.hosts, hosts.host_key(record), hosts.encode_host(record))


def test_shards_are_shown_as_they_said_last_with_what_was_decided(deployment: Deployment) -> None:
    assert deployment.http.get("/api/v1/matchers").json() == {"matchers": []}
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    deployment.publish()
    for shard, busy in ((1, 0.5), (0, 0.9), (0, 0.25)):
        say(deployment, shard, busy)
    decided = hosts.ScalingRecord("matcher_timing", AT, "on", 2, 2, 1, 1, 4, "1 replica can carry the load", 1)
    deployment.write(TOPICS.hosts, hosts.scaling_key("matcher_timing"), hosts.encode_scaling(decided))
    other = hosts.ScalingRecord("matcher_sjtree", AT, "follow", 1, 1, 1, 1, 4, "others decide")
    deployment.write(TOPICS.hosts, hosts.scaling_key("matcher_sjtree"), hosts.encode_scaling(other))

    deployment.until(lambda: len(deployment.http.get("/api/v1/matchers").json()["matchers"]) == 2)

    sjtree, timing = deployment.http.get("/api/v1/matchers").json()["matchers"]
    streams = [{"stream": "s", "position": 3, "lag_seconds": 0.5}]
    said = {"at": "2024-01-01T00:00:00Z", "memory_bytes": 1000, "streams": streams}
    assert timing == {
        "service": "matcher_timing",
        "shards": [{"shard": 0, "busy": 0.25, "patterns": 1, **said}, {"shard": 1, "busy": 0.5, "patterns": 0, **said}],
        "scaling": {
            "at": "2024-01-01T00:00:00Z",
            "mode": "on",
            "replicas": 2,
            "ready": 2,
            "wanted": 1,
            "least": 1,
            "most": 4,
            "reason": "1 replica can carry the load",
            "draining": 1,
        },
    }
    assert (sjtree["service"], sjtree["shards"], sjtree["scaling"]["draining"]) == ("matcher_sjtree", [], None)


def test_a_shard_that_is_gone_is_not_shown_and_what_cannot_be_read_is_passed_over(deployment: Deployment) -> None:
    say(deployment, 0, 0.5)
    say(deployment, 1, 0.5)
    deployment.write(TOPICS.hosts, b"matcher_timing.1", None)
    deployment.write(TOPICS.hosts, b"matcher_timing.7", b"{")
    say(deployment, 2, 0.5)

    def shards() -> list[int]:
        return [each["shard"] for of in deployment.http.get("/api/v1/matchers").json()["matchers"] for each in of["shards"]]

    deployment.until(lambda: shards() == [0, 2])


def test_who_may_not_read_patterns_does_not_see_them(deployment: Deployment) -> None:
    assert deployment.http.get("/api/v1/matchers", headers={"X-API-Key": "unknown"}).status_code == 401


def test_a_running_pattern_says_since_when_its_host_has_been_silent(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    deployment.publish()
    deployment.say("running")
    now = datetime.now(UTC)
    for seconds, expected in ((0, None), (3600, now - timedelta(seconds=3600))):
        record = hosts.HostRecord("matcher_timing", 0, now - timedelta(seconds=seconds), 0.1, 1000)
        deployment.write(TOPICS.hosts, hosts.host_key(record), hosts.encode_host(record))
        since = None if expected is None else expected.isoformat(timespec="seconds")

        def is_said(since: str | None = since) -> bool:
            found = deployment.http.get("/api/v1/patterns/p").json()
            said = f"shard 0 of matcher_timing, has reported nothing since {since}"
            return found["state"] == "running" and (said in (found["reason"] or "") if since else found["reason"] is None)

        deployment.until(is_said)
