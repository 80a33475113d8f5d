"""Overlays of k8s/ are manifests that Kubernetes and operators take, and agree with the chart, its values and our topics."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import jsonschema
import kubernetes_validate
import pytest
import yaml
from graphtide_core.ids import StreamName
from graphtide_log.kafka.admin import KafkaAdmin
from graphtide_log.kafka.commit_records import TOPIC as COMMITS
from graphtide_log.kafka.connection import KafkaConnection
from graphtide_log.kafka.reader import NO_GROUP
from graphtide_testing.charts import CHART, ROOT, TOOLS, Manifest, helm
from graphtide_testing.servers.security import REDIS_RULES
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from confluent_kafka.cimpl import NewTopic

ROOM: Final = ROOT / "k8s"
NAMESPACE: Final = "graphtide"
OVERLAYS: Final = ("namespace", "dev", "kafka", "redis", "telemetry", "production")
VERSIONS: Final = [f"1.{minor}" for minor in range(30, 38)]

CUSTOM: Final = {
    ("kafka.strimzi.io/v1", "Kafka"): "kafka",
    ("kafka.strimzi.io/v1", "KafkaNodePool"): "kafka-node-pool",
    ("kafka.strimzi.io/v1", "KafkaTopic"): "kafka-topic",
    ("kafka.strimzi.io/v1", "KafkaUser"): "kafka-user",
    ("redis.redis.opstreelabs.in/v1beta2", "Redis"): "redis",
    ("cert-manager.io/v1", "Certificate"): "certificate",
    ("cert-manager.io/v1", "Issuer"): "issuer",
}
"""Kinds that are not part of Kubernetes, with the schemas of the fields that we use."""

PRODUCTION: Final = (CHART / "values-production.yaml", ROOM / "production" / "values.yaml")
RELEASES: Final = {
    "dev": (ROOM / "dev" / "values.yaml",),
    "production": PRODUCTION,
}
"""Values that READMEs install the chart with."""


def load(path: Path) -> Manifest:
    found: Manifest = yaml.safe_load(path.read_text("utf-8"))
    return found


@cache
def overlay(name: str) -> tuple[Manifest, ...]:
    """Return what kubectl makes of an overlay."""
    ended = subprocess.run(
        [TOOLS / "kubectl", "kustomize", str(ROOM / name)], capture_output=True, text=True, timeout=60, check=True
    )
    return tuple(yaml.load_all(ended.stdout, yaml.CSafeLoader))


@cache
def release(name: str) -> tuple[Manifest, ...]:
    """Return what Helm makes of the chart, as READMEs install it."""
    configured = [part for path in RELEASES[name] for part in ("--values", str(path))]
    written = helm("template", "graphtide", str(CHART), "--namespace", NAMESPACE, *configured)
    return tuple(each for each in yaml.load_all(written, yaml.CSafeLoader) if each)


@cache
def values(name: str) -> Manifest:
    """Return all values of a release."""

    def over(base: Manifest, more: Manifest) -> Manifest:
        deeper = {key: over(base[key], value) for key, value in more.items() if isinstance(value, dict) and key in base}
        return base | more | deeper

    found = load(CHART / "values.yaml")
    for path in RELEASES[name]:
        found = over(found, load(path))
    return found


def one(manifests: tuple[Manifest, ...], kind: str, name: str = NAMESPACE) -> Manifest:
    (found,) = (each for each in manifests if (each["kind"], each["metadata"]["name"]) == (kind, name))
    return found


def is_custom(manifest: Manifest) -> bool:
    return (manifest["apiVersion"], manifest["kind"]) in CUSTOM


def pods() -> Iterator[tuple[str, Manifest]]:
    for name in OVERLAYS:
        for each in overlay(name):
            if each["kind"] in {"Deployment", "StatefulSet"}:
                yield f"{name} {each['metadata']['name']}", each["spec"]["template"]


def select(peers: list[Manifest]) -> list[dict[str, str]]:
    return [peer["podSelector"]["matchLabels"] for peer in peers]


def test_every_overlay_is_looked_at() -> None:
    assert {path.parent.name for path in ROOM.glob("*/kustomization.yaml")} == set(OVERLAYS)


@pytest.mark.parametrize("name", OVERLAYS)
def test_manifests_of_an_overlay_are_those_of_their_schemas(name: str) -> None:
    assert overlay(name)
    for manifest in overlay(name):
        if is_custom(manifest):
            kind = CUSTOM[manifest["apiVersion"], manifest["kind"]]
            excerpt = json.loads((Path(__file__).parent / "schemas" / f"{kind}.json").read_text("utf-8"))
            jsonschema.validate(manifest, excerpt)
        else:
            for version in VERSIONS:
                kubernetes_validate.validate(manifest, version, strict=True)


def test_every_kind_of_an_operator_is_used() -> None:
    used = {(each["apiVersion"], each["kind"]) for name in OVERLAYS for each in overlay(name) if is_custom(each)}
    assert used == set(CUSTOM)


@pytest.mark.parametrize("name", OVERLAYS)
def test_everything_is_in_one_namespace(name: str) -> None:
    for manifest in overlay(name):
        if manifest["kind"] == "Namespace":
            assert manifest["metadata"]["name"] == NAMESPACE
        else:
            assert manifest["metadata"]["namespace"] == NAMESPACE


@pytest.mark.parametrize("name", ["namespace", "dev", "production"])
def test_the_namespace_takes_restricted_pods_alone(name: str) -> None:
    labels = one(overlay(name), "Namespace")["metadata"]["labels"]
    assert labels == {f"pod-security.kubernetes.io/{what}": "restricted" for what in ("enforce", "audit", "warn")}


def test_a_pod_is_restricted(subtests: pytest.Subtests) -> None:
    for where, pod in pods():
        with subtests.test(where):
            spec = pod["spec"]
            assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
            assert spec["automountServiceAccountToken"] is False
            assert spec["securityContext"]["runAsNonRoot"] is True
            assert spec["securityContext"]["runAsUser"] > 0
            assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
            assert all(set(volume) - {"name"} <= {"configMap", "emptyDir", "secret"} for volume in spec["volumes"])
            for container in spec["containers"]:
                security = container["securityContext"]
                assert security["allowPrivilegeEscalation"] is False
                assert security["readOnlyRootFilesystem"] is True
                assert security["capabilities"] == {"drop": ["ALL"]}
                assert set(container["resources"]) == {"requests", "limits"}


def test_pods_that_operators_make_are_restricted() -> None:
    configured = {each["name"]: each["value"] for each in load(ROOM / "kafka" / "operator.yaml")["extraEnvs"]}
    assert configured == {"STRIMZI_POD_SECURITY_PROVIDER_CLASS": "restricted"}
    redis = one(overlay("redis"), "Redis", "graphtide-redis")["spec"]
    assert redis["podSecurityContext"]["runAsNonRoot"] is True
    assert redis["podSecurityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert redis["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert load(ROOM / "redis" / "operator.yaml")["featureGates"]["GenerateConfigInInitContainer"] is False


def test_operators_look_after_the_namespace() -> None:
    assert load(ROOM / "kafka" / "operator.yaml")["watchNamespaces"] == [NAMESPACE]
    assert load(ROOM / "redis" / "operator.yaml")["redisOperator"]["watchNamespace"] == NAMESPACE
    assert load(ROOM / "spark" / "operator.yaml")["spark"]["jobNamespaces"] == [NAMESPACE]


@pytest.mark.parametrize("name", RELEASES)
def test_the_chart_takes_the_values(name: str) -> None:
    made = release(name)
    assert {"matcher-timing", "ingestion", "admin-api"} <= {
        each["metadata"]["labels"]["app.kubernetes.io/component"]
        for each in made
        if each["kind"] in {"Deployment", "StatefulSet"}
    }
    assert any(each["kind"] == "SparkApplication" for each in made) is (name == "production")


@pytest.mark.parametrize("name", ["dev", "production"])
def test_services_find_kafka(name: str) -> None:
    kafka, configured = one(overlay(name), "Kafka"), values(name)["kafka"]
    (listener,) = kafka["spec"]["kafka"]["listeners"]
    assert configured["bootstrap"] == f"{kafka['metadata']['name']}-kafka-bootstrap:{listener['port']}"
    assert configured["tls"]["enabled"] is listener["tls"]
    assert configured["sasl"]["enabled"] is ("authentication" in listener)
    brokers = sum(
        each["spec"]["replicas"]
        for each in overlay(name)
        if each["kind"] == "KafkaNodePool" and "broker" in each["spec"]["roles"]
    )
    assert configured["replication"] == kafka["spec"]["kafka"]["config"]["default.replication.factor"] == brokers
    assert select(values(name)["networkPolicy"]["kafka"]) == [{"strimzi.io/cluster": kafka["metadata"]["name"]}]


def test_services_log_in_to_kafka_with_what_the_operator_writes() -> None:
    kafka, user = one(overlay("production"), "Kafka"), one(overlay("production"), "KafkaUser")
    (listener,) = kafka["spec"]["kafka"]["listeners"]
    configured = values("production")["kafka"]
    assert user["spec"]["authentication"] == listener["authentication"] == {"type": configured["sasl"]["mechanism"].lower()}
    # A user's Secret has its name, and the password; the authority's is called after the cluster.
    assert configured["sasl"]["existingSecret"] == configured["sasl"]["username"] == user["metadata"]["name"]
    assert configured["sasl"]["passwordKey"] == "password"
    assert configured["tls"]["existingSecret"] == f"{kafka['metadata']['name']}-cluster-ca-cert"
    assert configured["tls"]["authoritiesKey"] == "ca.crt"
    labels = {each["metadata"]["labels"]["app.kubernetes.io/part-of"] for each in release("production")}
    assert [{"app.kubernetes.io/part-of": label} for label in labels] == select(listener["networkPolicyPeers"])


def test_nodes_and_topics_belong_to_the_cluster() -> None:
    for name in ("dev", "production"):
        for each in overlay(name):
            if each["kind"] in {"KafkaNodePool", "KafkaTopic", "KafkaUser"}:
                assert each["metadata"]["labels"] == {"strimzi.io/cluster": one(overlay(name), "Kafka")["metadata"]["name"]}


def test_the_user_of_kafka_may_do_what_services_do_under_the_prefix_and_read_commits() -> None:
    rules = one(overlay("kafka"), "KafkaUser")["spec"]["authorization"]["acls"]
    prefix = f"{values('production')['topicPrefix']}."
    assert {(*rule["resource"].values(), *rule["operations"]) for rule in rules} == {
        (prefix, "prefix", "topic", "Create", "Delete", "Describe", "Read", "Write"),
        (COMMITS, "literal", "topic", "Describe", "Read"),
        (prefix, "prefix", "group", "Describe", "Read"),
        (NO_GROUP, "literal", "group", "Describe"),
        (prefix, "prefix", "transactionalId", "Describe", "Write"),
    }


class Recorder:
    """A client of Kafka that makes topics by writing down what is asked for."""

    def __init__(self) -> None:
        self.made: dict[str, NewTopic] = {}
        self.topics: dict[str, Any] = {}

    def list_topics(self, timeout: float) -> Recorder:
        return self

    def create_topics(self, new: list[NewTopic], request_timeout: float) -> dict[str, Any]:
        self.made |= {each.topic: each for each in new}
        self.topics |= {each.topic: Led() for each in new}
        return {}


class Led:
    """A topic, as metadata say it, with a partition that has a leader."""

    leader = 0

    def __init__(self) -> None:
        self.partitions = {0: self}


def test_topics_are_those_that_services_would_make() -> None:
    configured = values("production")
    names = [*configured["streams"]["names"], configured["roundTrip"]["stream"]]
    topics = Topics(configured["topicPrefix"])
    options = {"partitions": configured["streams"]["partitions"], "retention_ms": configured["streams"]["retentionMs"]}
    recorder = Recorder()
    KafkaAdmin(cast("Any", recorder), KafkaConnection("none:9092", "test")).ensure(
        [*topics.of_deployment(), *(spec for name in names for spec in topics.of_stream(StreamName(name), **options))]
    )
    declared = [each for each in overlay("kafka") if each["kind"] == "KafkaTopic"]
    assert {
        each["spec"].get("topicName", each["metadata"]["name"]): (
            each["spec"]["partitions"],
            {key: str(value) for key, value in each["spec"]["config"].items()},
        )
        for each in declared
    } == {name: (new.num_partitions, new.config) for name, new in recorder.made.items()}
    assert {each["spec"]["replicas"] for each in declared} == {configured["kafka"]["replication"]}


def test_matchers_find_redis_and_trust_it() -> None:
    configured, found = values("production")["redis"], overlay("redis")
    # The operator calls the Service as the Redis is called.
    redis, certificate = (
        one(found, "Redis", configured["host"])["spec"],
        one(found, "Certificate", "graphtide-redis-tls")["spec"],
    )
    assert {configured["host"], f"{configured['host']}.{NAMESPACE}.svc"} <= set(certificate["dnsNames"])
    assert configured["tls"]["existingSecret"] == redis["TLS"]["secret"]["secretName"] == certificate["secretName"]
    assert configured["tls"]["authoritiesKey"] == redis["TLS"]["ca"]
    authority = one(found, "Issuer", certificate["issuerRef"]["name"])["spec"]["ca"]["secretName"]
    assert authority == one(found, "Certificate", "graphtide-redis-authority")["spec"]["secretName"]
    policy = one(found, "NetworkPolicy", "graphtide-redis")["spec"]
    assert policy["podSelector"]["matchLabels"] == {"app": configured["host"], "redis_setup_type": "standalone"}
    assert select(values("production")["networkPolicy"]["redis"]) == [policy["podSelector"]["matchLabels"]]
    (matchers,) = policy["ingress"]
    assert select(matchers["from"]) == [{"app.kubernetes.io/part-of": "graphtide"}]
    assert matchers["ports"] == [{"protocol": "TCP", "port": configured["port"]}]


def test_users_of_redis_are_those_of_its_secret() -> None:
    configured, redis = values("production")["redis"]["auth"], one(overlay("redis"), "Redis", "graphtide-redis")["spec"]
    readme = (ROOM / "redis" / "README.md").read_text("utf-8")
    (secret,) = re.findall(r"create secret generic (\S+)", readme)
    keys = set(re.findall(r"--from-literal ([a-z.-]+)=", readme))
    assert {
        configured["existingSecret"],
        redis["kubernetesConfig"]["redisSecret"]["name"],
        redis["acl"]["secret"]["secretName"],
    } == {secret}
    assert keys == {
        configured["usernameKey"],
        configured["passwordKey"],
        redis["kubernetesConfig"]["redisSecret"]["key"],
        "user.acl",
    }
    assert [item["key"] for item in redis["acl"]["secret"]["items"]] == ["user.acl"]
    (commands,) = re.findall(r'^commands="(.*)"$', readme, re.MULTILINE)
    (rules,) = re.findall(r"^user graphtide on >\$password (.*)$", readme, re.MULTILINE)
    assert rules.replace("$commands", commands) == REDIS_RULES


def test_a_redis_of_development_is_found() -> None:
    configured, service = values("dev")["redis"], one(overlay("dev"), "Service", "redis")["spec"]
    template = one(overlay("dev"), "StatefulSet", "redis")["spec"]["template"]
    assert (configured["host"], [configured["port"]]) == ("redis", [port["port"] for port in service["ports"]])
    assert service["selector"] == template["metadata"]["labels"]
    assert select(values("dev")["networkPolicy"]["redis"]) == [service["selector"]]


def test_redis_evicts_nothing() -> None:
    settings = one(overlay("redis"), "Redis", "graphtide-redis")["spec"]["redisConfig"]["additionalRedisConfig"]
    assert "maxmemory-policy noeviction" in one(overlay("redis"), "ConfigMap", settings)["data"]["redis-additional.conf"]
    (container,) = one(overlay("dev"), "StatefulSet", "redis")["spec"]["template"]["spec"]["containers"]
    assert container["args"][-2:] == ["--maxmemory-policy", "noeviction"]


def test_traces_come_to_the_collector() -> None:
    found = overlay("telemetry")
    service = one(found, "Service", "otel-collector")
    pod = one(found, "Deployment", "otel-collector")["spec"]["template"]
    ports = {port["name"]: port["port"] for port in service["spec"]["ports"]}
    assert values("production")["telemetry"]["otlpEndpoint"] == f"http://otel-collector:{ports['otlp-http']}"
    assert service["spec"]["selector"] == pod["metadata"]["labels"]
    assert select(values("production")["networkPolicy"]["telemetry"]) == [pod["metadata"]["labels"]]
    (written,) = (each["data"]["config.yaml"] for each in found if each["kind"] == "ConfigMap")
    config = yaml.safe_load(written)
    listens = {
        "otlp-http": config["receivers"]["otlp"]["protocols"]["http"]["endpoint"],
        "prometheus": config["exporters"]["prometheus"]["endpoint"],
        "health": config["extensions"]["health_check"]["endpoint"],
    }
    (container,) = pod["spec"]["containers"]
    assert {port["name"]: f"0.0.0.0:{port['containerPort']}" for port in container["ports"]} == listens
    for pipeline in config["service"]["pipelines"].values():
        assert set(pipeline["receivers"]) <= set(config["receivers"])
        assert set(pipeline["processors"]) <= set(config["processors"])
        assert set(pipeline["exporters"]) <= set(config["exporters"])


def test_services_and_monitoring_alone_come_to_the_collector() -> None:
    found = overlay("telemetry")
    policy = one(found, "NetworkPolicy", "otel-collector")["spec"]
    pod = one(found, "Deployment", "otel-collector")["spec"]["template"]
    assert policy["podSelector"]["matchLabels"] == pod["metadata"]["labels"]
    services, monitoring = policy["ingress"]
    assert select(services["from"]) == [{"app.kubernetes.io/part-of": "graphtide"}]
    assert services["ports"] == [{"protocol": "TCP", "port": 4318}]
    assert monitoring["from"] == values("production")["networkPolicy"]["monitoring"]
    assert monitoring["ports"] == [{"protocol": "TCP", "port": 8889}]


def test_ports_of_this_machine_lead_to_services_of_the_chart() -> None:
    (node,) = load(ROOM / "dev" / "kind.yaml")["nodes"]
    mapped = {each["containerPort"]: each["hostPort"] for each in node["extraPortMappings"]}
    for component in ("admin-api", "ingestion"):
        service = one(overlay("dev"), "Service", f"{component}-of-node")["spec"]
        (port,) = service["ports"]
        (pod,) = (
            each["spec"]["template"]
            for each in release("dev")
            if each["kind"] == "Deployment" and each["metadata"]["labels"]["app.kubernetes.io/component"] == component
        )
        assert service["selector"].items() <= pod["metadata"]["labels"].items()
        assert port["targetPort"] in {named["name"] for named in pod["spec"]["containers"][0]["ports"]}
        assert mapped[port["nodePort"]] == port["port"]
        assert f"localhost:{port['port']}" in (ROOM / "dev" / "README.md").read_text("utf-8")


def test_a_stream_is_put_in_order_by_one() -> None:
    configured = values("production")
    assert configured["preprocess"]["streams"] == configured["sequencer"]["settings"]["elsewhere"]
    assert set(configured["preprocess"]["streams"]) <= set(configured["streams"]["names"])


@pytest.mark.parametrize("page", sorted(ROOM.rglob("README.md")), ids=lambda page: page.parent.name)
def test_commands_of_a_page_name_what_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    for path in re.findall(r"(?<![\w/.])((?:k8s|charts)/[\w./-]+)", text):
        assert (ROOT / path.rstrip(".")).exists(), path
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert (page.parent / link).exists(), link
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)", text, re.MULTILINE)) <= targets
    operators = set(re.findall(r"^operator\.([a-z-]+) :=", (ROOM / "operators.mk").read_text("utf-8"), re.MULTILINE))
    for named in re.findall(r'OPERATORS="?([a-z -]+)', text):
        assert set(named.split()) <= operators


def test_values_of_operators_are_there() -> None:
    for path in re.findall(r"--values (\S+)", (ROOM / "operators.mk").read_text("utf-8")):
        assert load(ROOT / path)
