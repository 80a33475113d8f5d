"""Matchers: a StatefulSet each, a shard a pod, scaled by one of three or not at all."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from graphtide_log.checkpoints.redis import RedisCheckpoints
from graphtide_query.families import SERVICES
from graphtide_testing.charts import render


def shards(values: dict[str, Any]) -> dict[str, int]:
    found: dict[str, int] = json.loads(render(values).one("ConfigMap", "planner")["data"]["GRAPHTIDE_PLANNER_SHARDS"])
    return found


def test_there_is_a_stateful_set_for_each_service_that_the_planner_knows() -> None:
    sets = render().of("StatefulSet")
    assert {name.replace("-", "_") for name in sets} == set(SERVICES.values())
    commands = {name: each["spec"]["template"]["spec"]["containers"][0]["command"] for name, each in sets.items()}
    assert commands == {name: [f"graphtide-{name}"] for name in sets}


def test_a_shard_is_the_number_of_its_pod() -> None:
    release = render()
    configured = release.environment(release.one("StatefulSet", "matcher-timing")["spec"]["template"])
    field = {"fieldRef": {"fieldPath": "metadata.labels['apps.kubernetes.io/pod-index']"}}
    assert configured["GRAPHTIDE_MATCHER_TIMING_SHARD"] == field


def test_one_more_service_is_one_entry() -> None:
    release = render({"matchers": {"event_pattern": {"shards": 3}}})
    added = release.one("StatefulSet", "matcher-event-pattern")
    assert added["spec"]["replicas"] == 3
    assert added["spec"]["template"]["spec"]["containers"][0]["command"] == ["graphtide-matcher-event-pattern"]
    assert "GRAPHTIDE_MATCHER_EVENT_PATTERN_REDIS" in release.one("ConfigMap", "matcher-event-pattern")["data"]
    assert shards({"matchers": {"event_pattern": {"shards": 3}}})["matcher_event_pattern"] == 3


def test_the_planner_knows_the_shards_that_there_are() -> None:
    assert shards({"matcherDefaults": {"shards": 2}, "matchers": {"sjtree": {"shards": 5}, "simulation": None}}) == {
        "matcher_timing": 2,
        "matcher_sjtree": 5,
        "matcher_event_pattern": 2,
        "matcher_algebra": 2,
    }


def test_an_entry_says_what_differs_and_nothing_of_the_others() -> None:
    values = {"matcherDefaults": {"settings": {"lingerSeconds": 0.5}}, "matchers": {"sjtree": {"settings": {"mostRecords": 4}}}}
    release = render(values)

    def configured(name: str) -> tuple[str, str]:
        prefix, data = f"GRAPHTIDE_{name.upper().replace('-', '_')}_", release.one("ConfigMap", name)["data"]
        return data[f"{prefix}LINGER_SECONDS"], data[f"{prefix}MOST_RECORDS"]

    assert configured("matcher-sjtree") == ("0.5", "4")
    assert configured("matcher-timing") == ("0.5", "16")


def test_an_upgrade_replaces_one_shard_after_the_other_and_shards_begin_together() -> None:
    for each in render().of("StatefulSet").values():
        assert each["spec"]["updateStrategy"] == {"type": "RollingUpdate"}
        assert each["spec"]["podManagementPolicy"] == "Parallel"


@pytest.mark.parametrize("linger", [0.2, 4.5, 10])
def test_a_shard_has_time_to_end_its_round(linger: float) -> None:
    pod = render({"matcherDefaults": {"settings": {"lingerSeconds": linger}}}).one("StatefulSet", "matcher-timing")
    assert pod["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 20 + math.ceil(linger)


def test_what_is_scaled_by_others_has_no_number_of_its_own() -> None:
    full, other = render(over="full"), render(over="other")
    for release in (full, other):
        assert "replicas" not in release.one("StatefulSet", "matcher-timing")["spec"]
        assert release.one("StatefulSet", "matcher-sjtree")["spec"]["replicas"] == 2
    assert not full.of("ScaledObject")
    assert set(full.of("HorizontalPodAutoscaler")) == {"ingestion"}
    assert set(other.of("HorizontalPodAutoscaler")) == {"ingestion", "matcher-timing"}


@pytest.mark.parametrize("by", ["hpa", "keda", "planner"])
@pytest.mark.parametrize("service", sorted(SERVICES.values()))
def test_each_service_that_the_planner_knows_can_be_scaled(service: str, by: str) -> None:
    how = {"enabled": True, "serverAddress": "http://prometheus:9090"} if by == "keda" else {"enabled": True}
    values = {"matchers": {service.removeprefix("matcher_"): {"scaling": {by: how}}}}
    assert set(json.loads(scaling("default", values)["SERVICES"])) == {service}


def test_bounds_and_targets_of_scaling_are_those_of_the_entry() -> None:
    other = render(over="other")
    scaled = other.one("ScaledObject", "matcher-simulation")["spec"]
    assert (scaled["minReplicaCount"], scaled["maxReplicaCount"]) == (2, 4)
    assert scaled["scaleTargetRef"]["name"] == "tide-matcher-simulation"
    (trigger,) = scaled["triggers"]
    assert trigger["metadata"] == {
        "serverAddress": "http://prometheus.monitoring.svc:9090",
        "query": 'sum(graphtide_consumer_lag_seconds{namespace="streams", service="tide-matcher-simulation"})',
        "threshold": "5",
    }
    (metric,) = other.one("HorizontalPodAutoscaler", "matcher-timing")["spec"]["metrics"]
    assert metric["pods"] == {
        "metric": {"name": "graphtide_consumer_lag_seconds"},
        "target": {"type": "AverageValue", "averageValue": "5"},
    }


def scaling(over: str, values: dict[str, Any] | None = None) -> dict[str, str]:
    data = render(values, over=over).one("ConfigMap", "planner")["data"]
    before = "GRAPHTIDE_PLANNER_SCALING__"
    return {name.removeprefix(before): value for name, value in data.items() if name.startswith(before)}


def test_the_planner_scales_follows_or_does_neither() -> None:
    assert scaling("default") == {"MODE": "off"}
    assert scaling("full")["MODE"] == "on"
    assert scaling("full", {"planner": {"scaling": {"dryRun": True}}})["MODE"] == "dry-run"
    assert scaling("other")["MODE"] == "follow"
    services = {
        "matcher_timing": {"stateful_set": "tide-matcher-timing", "least": 1, "most": 4},
        "matcher_simulation": {"stateful_set": "tide-matcher-simulation", "least": 2, "most": 4},
    }
    assert json.loads(scaling("full")["SERVICES"]) == json.loads(scaling("other")["SERVICES"]) == services


def test_the_planner_may_do_what_it_asks_for_and_nothing_else() -> None:
    assert not render().of("Role")
    watch = {"apiGroups": ["apps"], "resources": ["statefulsets"], "verbs": ["list", "watch"]}
    assert render(over="other").one("Role", "planner")["rules"] == [watch]
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    assert render(over="full").one("Role", "planner")["rules"] == [
        watch,
        {
            "apiGroups": ["apps"],
            "resources": ["statefulsets/scale"],
            "resourceNames": ["tide-matcher-simulation", "tide-matcher-timing"],
            "verbs": ["patch"],
        },
        {**leases, "verbs": ["create"]},
        {**leases, "resourceNames": [scaling("full")["LEASE"]], "verbs": ["get", "update"]},
    ]
    binding = render(over="full").one("RoleBinding", "planner")
    assert binding["roleRef"]["name"] == "tide-planner"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "tide-planner", "namespace": "streams"}]


def test_redis_is_given_by_its_url_and_logins_by_secrets() -> None:
    release = render(over="full")
    configured = release.environment(release.one("StatefulSet", "matcher-timing")["spec"]["template"])
    mine = {name.removeprefix("GRAPHTIDE_MATCHER_TIMING_"): value for name, value in configured.items()}
    assert {name: value for name, value in mine.items() if name.startswith("REDIS")} == {
        "REDIS": "rediss://redis.redis.svc:6380/3",
        "REDIS_AUTHORITIES": "/etc/graphtide/redis/ca.crt",
        "REDIS_CERTIFICATE": "/etc/graphtide/redis/tls.crt",
        "REDIS_KEY": "/etc/graphtide/redis/tls.key",
        "REDIS_USERNAME": {"secretKeyRef": {"name": "redis-user", "key": "username"}},
        "REDIS_PASSWORD": {"secretKeyRef": {"name": "redis-user", "key": "password"}},
    }


@pytest.mark.parametrize(
    ("redis", "url", "ports"),
    [
        (
            {"mode": "cluster", "nodes": ["a.redis:7000", "b.redis:7001"]},
            "redis+cluster://a.redis:7000,b.redis:7001",
            {7000, 7001},
        ),
        (
            {"mode": "sentinel", "nodes": ["a:26379", "b:26379"], "primary": "tide", "database": 2, "tls": {"enabled": True}},
            "rediss+sentinel://a:26379,b:26379/tide/2",
            {6379, 26379},
        ),
    ],
)
def test_a_cluster_and_sentinels_are_given_by_urls_that_the_services_take(
    redis: dict[str, object], url: str, ports: set[int]
) -> None:
    release = render({"redis": redis})
    configured = release.environment(release.one("StatefulSet", "matcher-timing")["spec"]["template"])
    assert configured["GRAPHTIDE_MATCHER_TIMING_REDIS"] == url
    RedisCheckpoints(url).close()
    egress = release.one("NetworkPolicy", "matcher-timing")["spec"]["egress"]
    opened = {port["port"] for rule in egress for port in rule["ports"]}
    assert ports <= opened
    assert (6379 in opened) == (6379 in ports)


def test_sentinels_have_a_password_of_their_own() -> None:
    redis = {"mode": "sentinel", "nodes": ["a:26379"], "primary": "tide"}
    auth = {"existingSecret": "redis-user", "sentinelPasswordKey": "sentinel"}
    release = render({"redis": {**redis, "auth": auth}})
    configured = release.environment(release.one("StatefulSet", "matcher-timing")["spec"]["template"])
    assert configured["GRAPHTIDE_MATCHER_TIMING_REDIS_SENTINEL_PASSWORD"] == {
        "secretKeyRef": {"name": "redis-user", "key": "sentinel"}
    }
