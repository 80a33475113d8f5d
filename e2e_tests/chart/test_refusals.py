"""Values that cannot work are refused, with words that say what to write."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest
from graphtide_testing.charts import CHART, RefusedError, render

SPARK: dict[str, Any] = {"enabled": True, "streams": ["flows"], "checkpoint": "s3a://b/f"}
ELSEWHERE: dict[str, Any] = {"settings": {"elsewhere": ["flows"]}}


def refusal(values: dict[str, Any]) -> str:
    return _refusal(json.dumps(values))


@cache
def _refusal(values: str) -> str:
    with pytest.raises(RefusedError) as refused:
        render(json.loads(values))
    return str(refused.value)


def enable_scaling(**by: dict[str, Any]) -> dict[str, Any]:
    return {"timing": {"scaling": by}}


ON = {"enabled": True}
KEDA = {"enabled": True, "serverAddress": "http://prometheus:9090"}

TOGETHER: dict[str, tuple[dict[str, Any], str]] = {
    "a name that no Service may have": (
        {"fullnameOverride": "1st"},
        "write fullnameOverride, such as fullnameOverride: graphtide",
    ),
    "no brokers": ({"kafka": {"bootstrap": ""}}, "write the brokers to ask first"),
    "brokers without a port": ({"kafka": {"bootstrap": "kafka"}}, "which is not host:port: write such as"),
    "SASL without a Secret": (
        {"kafka": {"sasl": {"enabled": True}}},
        "make a Secret with the keys username and password, and write its name to kafka.sasl.existingSecret",
    ),
    "SASL without a name": (
        {"kafka": {"sasl": {"enabled": True, "existingSecret": "s", "usernameKey": ""}}},
        "write the name to kafka.sasl.username, or the Secret's key of it to kafka.sasl.usernameKey",
    ),
    "a certificate without a Secret": (
        {"kafka": {"tls": {"enabled": True, "certificateKey": "c", "keyKey": "k"}}},
        "write its name to kafka.tls.existingSecret",
    ),
    "a certificate without its key": (
        {"kafka": {"tls": {"enabled": True, "existingSecret": "s", "certificateKey": "c"}}},
        "a client's certificate needs both",
    ),
    "files of TLS without TLS": ({"kafka": {"tls": {"existingSecret": "s"}}}, "write kafka.tls.enabled: true"),
    "nodes of one server": ({"redis": {"nodes": ["a:1"]}}, "write redis.mode: cluster or redis.mode: sentinel"),
    "a cluster without nodes": ({"redis": {"mode": "cluster"}}, "write where its nodes or sentinels are, such as redis.nodes"),
    "a node without a port": (
        {"redis": {"mode": "cluster", "nodes": ["redis-0"]}},
        "which is not host:port: write such as redis-0",
    ),
    "a primary without a name": (
        {"redis": {"mode": "sentinel", "nodes": ["redis-0:26379"]}},
        "write such as redis.primary: mymaster",
    ),
    "a database of a cluster": (
        {"redis": {"mode": "cluster", "nodes": ["redis-0:6379"], "database": 3}},
        "a cluster has database 0 alone",
    ),
    "a password of sentinels without a Secret": (
        {"redis": {"auth": {"sentinelPasswordKey": "sentinel"}}},
        "redis.auth.sentinelPasswordKey names a key of a Secret",
    ),
    "no Redis": ({"redis": {"host": ""}}, "write such as redis.host: redis-master.redis.svc"),
    "Redis' certificate without a Secret": (
        {"redis": {"tls": {"enabled": True, "certificateKey": "c", "keyKey": "k"}}},
        "write its name to redis.tls.existingSecret",
    ),
    "Redis' certificate without its key": (
        {"redis": {"tls": {"enabled": True, "existingSecret": "s", "keyKey": "k"}}},
        "redis.tls has one of certificateKey and keyKey",
    ),
    "files of Redis' TLS without TLS": ({"redis": {"tls": {"existingSecret": "s"}}}, "write redis.tls.enabled: true"),
    "a user of Redis without a Secret": (
        {"redis": {"auth": {"usernameKey": "username"}}},
        "write its name to redis.auth.existingSecret",
    ),
    "no caller has access": ({"access": {"existingSecret": ""}}, "write its name to access.existingSecret, or set access.oidc"),
    "half an issuer": (
        {"access": {"oidc": {"issuer": "https://id"}}},
        "access.oidc.issuer needs access.oidc.audience and access.oidc.jwksUrl",
    ),
    "a ticket's secret without a Secret": (
        {"access": {"existingSecret": "", "insecure": True, "ticketSecretKey": "t"}},
        "access.ticketSecretKey names a key of a Secret, but no Secret",
    ),
    "tickets of several processes": ({"adminApi": {"replicas": 2}}, "write their key to access.ticketSecretKey"),
    "two backfills": ({"backfill": {"enabled": True, "replicas": 2}}, "write backfill.replicas: 1"),
    "backfill on Kubernetes": (
        {"backfill": {"enabled": True, "settings": {"master": "k8s://https://there"}}},
        "write local[N], or spark://HOST:PORT",
    ),
    "backfill on another cluster": (
        {"backfill": {"enabled": True, "settings": {"master": "spark://there:7077"}}},
        "write the claim that all of them mount to backfill.persistence.existingClaim",
    ),
    "backfill on a cluster that it may not reach": (
        {"backfill": {"enabled": True, "settings": {"master": "spark://there:7077"}, "persistence": {"existingClaim": "c"}}},
        "write where its machines are, such as networkPolicy.sparkCluster",
    ),
    "HPA and KEDA": (
        {"matchers": enable_scaling(hpa=ON, keda=KEDA)},
        "matchers.timing is scaled by hpa and keda, which would work against each other: leave enabled: true to one",
    ),
    "HPA and the planner": ({"matchers": enable_scaling(hpa=ON, planner=ON)}, "matchers.timing is scaled by hpa and planner"),
    "KEDA and the planner": (
        {"matchers": enable_scaling(keda=KEDA, planner=ON)},
        "matchers.timing is scaled by keda and planner",
    ),
    "one by the planner and one by HPA": (
        {"matchers": {**enable_scaling(planner=ON), "sjtree": {"scaling": {"hpa": ON}}}},
        "the planner either scales or follows",
    ),
    "scaling that no planner hears of": (
        {"matchers": enable_scaling(hpa=ON), "planner": {"enabled": False}},
        "write planner.enabled: true",
    ),
    "scaling of a service that the planner does not know": (
        {"matchers": {"unheard_of": {"scaling": {"hpa": ON}}}},
        "leave scaling out, and write shards",
    ),
    "fewer at most than at least": (
        {"matchers": {"timing": {"scaling": {"minShards": 5}}}},
        "matchers.timing.scaling has minShards 5 and maxShards 4: write a maxShards",
    ),
    "KEDA without Prometheus": (
        {"matchers": enable_scaling(keda=ON)},
        "write matchers.timing.scaling.keda.serverAddress: http://prometheus.monitoring.svc:9090",
    ),
    "shares the wrong way round": (
        {"planner": {"scaling": {"settings": {"busyAfter": 0.9}}}},
        "planner.scaling.settings.busyAfter is not below busy",
    ),
    "fewer processes at most than at least": (
        {"ingestion": {"hpa": {"minReplicas": 9}}},
        "ingestion.hpa has minReplicas 9 and maxReplicas 6: write a maxReplicas",
    ),
    "Spark without streams": ({"preprocess": {**SPARK, "streams": []}}, "write such as preprocess.streams: [flows]"),
    "Spark without a checkpoint": ({"preprocess": {**SPARK, "checkpoint": ""}}, "write a folder that outlives pods"),
    "sequencer and Spark for one stream": (
        {"preprocess": SPARK},
        'under one transactional id: write sequencer.settings.elsewhere: ["flows"], or sequencer.enabled: false',
    ),
    "neither sequencer nor Spark for a stream": (
        {"streams": {"names": ["flows"]}, "sequencer": ELSEWHERE},
        "no service puts the stream flows in order: write preprocess.enabled: true and add it to preprocess.streams, or take "
        "it out of sequencer.settings.elsewhere",
    ),
    "two that count": (
        {"preprocess": {**SPARK, "settings": {"statistics": True}}, "sequencer": ELSEWHERE},
        "write preprocess.settings.statistics: false, or statistics.enabled: false",
    ),
    "a round trip without a key": (
        {"roundTrip": {"existingSecret": ""}},
        "write the Secret that has it to roundTrip.existingSecret",
    ),
    "a round trip that no service puts in order": (
        {"sequencer": {"settings": {"elsewhere": ["round_trip"]}}},
        "no service puts roundTrip.stream (round_trip) in order",
    ),
    "an Ingress without a host": (
        {"ingestion": {"ingress": ON}},
        "write such as ingestion.ingress.host: graphtide.example.org",
    ),
    "an HTTPRoute without a Gateway": ({"adminApi": {"httpRoute": ON}}, "write adminApi.httpRoute.parentRefs"),
    "metrics that no pod may read": (
        {"monitoring": {"serviceMonitor": ON}},
        "write who may, such as networkPolicy.monitoring: [{namespaceSelector:",
    ),
    "a digest that is none": ({"image": {"digest": "latest"}}, "write sha256: and 64 hexadecimal digits"),
    "a quantity that is none": (
        {"planner": {"resources": {"limits": {"memory": "512mb"}}}},
        'planner.resources.limits.memory is "512mb", which is not a quantity of Kubernetes: write such as 500m of cpu',
    ),
    "a quantity of a matcher that is none": (
        {"matchers": {"timing": {"resources": {"requests": {"cpu": "two"}}}}},
        'matchers.timing.resources.requests.cpu is "two"',
    ),
    "a size that is none": ({"backfill": {"persistence": {"size": "20 Gi"}}}, 'backfill.persistence.size is "20 Gi"'),
    "memory that Spark does not know": (
        {"preprocess": {"driver": {"memory": "1Gi"}}},
        'preprocess.driver.memory is "1Gi": write memory as Spark does',
    ),
}
"""Values that do not go together, and part of the message about them."""


NO_SUCH = "value must be 'left out, for there is no such name: write one of"

ALONE: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown name": (
        {"ingestoin": {}},
        f"at '/ingestoin': {NO_SUCH} nameOverride, fullnameOverride, commonLabels, global, image, ",
    ),
    "an unknown name inside": (
        {"sequencer": {"settings": {"latenes": 5}}},
        f"at '/sequencer/settings/latenes': {NO_SUCH} elsewhere, lateness, ",
    ),
    "an unknown name of a matcher": (
        {"matchers": {"timing": {"replicas": 2}}},
        f"at '/matchers/timing/replicas': {NO_SUCH} shards, port, scaling, ",
    ),
    "an unknown name of pods": ({"planner": {"pods": {"label": {}}}}, f"at '/planner/pods/label': {NO_SUCH} labels, "),
    "an unknown resource": (
        {"planner": {"resources": {"limits": {"memroy": "1Gi"}}}},
        f"at '/planner/resources/limits/memroy': {NO_SUCH} cpu, memory, ephemeral-storage'",
    ),
    "an unknown name of a peer": (
        {"networkPolicy": {"kafka": [{"podSelectors": {}}]}},
        f"at '/networkPolicy/kafka/0/podSelectors': {NO_SUCH} podSelector, namespaceSelector, ipBlock'",
    ),
    "a text for a number": ({"adminApi": {"replicas": "two"}}, "at '/adminApi/replicas': got string, want integer"),
    "a number below its bound": ({"streams": {"partitions": 0}}, "at '/streams/partitions': minimum: got 0, want 1"),
    "a word that is not among those known": ({"profile": "fast"}, "value must be one of 'throughput', 'low-latency'"),
    "a stream's name that is none": ({"streams": {"names": ["Flows"]}}, "'Flows' does not match pattern"),
    "a prefix that is none": ({"topicPrefix": "a.b"}, "'a.b' does not match pattern"),
    "a variable of no service": (
        {"telemetry": {"variables": {"HTTP_PROXY": "x"}}},
        "'HTTP_PROXY' does not match pattern",
    ),
    "a port that is none": ({"planner": {"port": 70000}}, "maximum: got 70,000, want 65,535"),
    "a matcher's name that is none": ({"matchers": {"Timing": {}}}, "'Timing' does not match pattern"),
}
"""Values that are wrong by themselves, and part of what the schema says of them."""


@pytest.mark.parametrize("name", ALONE)
def test_what_is_wrong_by_itself_is_refused_by_the_schema(name: str) -> None:
    values, said = ALONE[name]
    assert said in refusal(values)


@pytest.mark.parametrize(
    "values",
    [
        {"preprocess": SPARK, "sequencer": ELSEWHERE},
        {"preprocess": SPARK, "sequencer": {"enabled": False}, "roundTrip": {"enabled": False}},
        {"adminApi": {"replicas": 2}, "access": {"ticketSecretKey": "ticket-secret"}},
        {"matchers": dict.fromkeys(("timing", "sjtree", "simulation", "event_pattern", "algebra")), "redis": {"host": ""}},
        {"access": {"existingSecret": "", "insecure": True}},
        {"matchers": {"timing": {"scaling": {"planner": ON}}, "sjtree": {"shards": 3}}},
        {"sequencer": {"replicas": 0}},
        {"monitoring": {"serviceMonitor": ON}, "networkPolicy": {"enabled": False}},
        {"planner": {"resources": {"limits": {"cpu": 1.5, "memory": None}}}},
    ],
    ids=str,
)
def test_what_goes_together_is_taken(values: dict[str, Any]) -> None:
    assert render(values).manifests


def test_what_does_not_go_together_is_refused_in_words_and_each_rule_has_a_case(subtests: pytest.Subtests) -> None:
    """Some case's refusal has each message, but for the values in it."""
    for name, (values, said) in TOGETHER.items():
        with subtests.test(name):
            assert said in refusal(values)
    text = (CHART / "templates" / "validation.yaml").read_text("utf-8")
    messages = re.findall(r'fail (?:\(printf )?"((?:[^"\\]|\\.)*)"', text)
    assert len(messages) == text.count("{{- fail ")
    refusals = [refusal(values) for values, _ in TOGETHER.values()]
    for message in messages:
        words = [part for part in re.split(r"%[a-z]", message.replace('\\"', '"')) if len(part) > 3]
        assert any(all(part in each for part in words) for each in refusals), message
