"""Services of the chart: ports, probes, how they end, how many there are."""

from __future__ import annotations

from inspect import signature

import pytest
from graphtide_serving import running
from graphtide_serving.process import Workers
from graphtide_testing.charts import CHART, NAMESPACE, RELEASE, SETS, Manifest, helm, render

SERVICES = ("admin-api", "alerts", "backfill", "ingestion", "planner", "sequencer", "statistics")
ALONE = ("alerts", "backfill", "planner", "sequencer", "statistics")


def container(workload: Manifest) -> Manifest:
    (found,) = workload["spec"]["template"]["spec"]["containers"]
    return dict(found)


def workloads(values: str) -> dict[str, Manifest]:
    release = render(over=values)
    return {**release.of("Deployment"), **release.of("StatefulSet")}


@pytest.mark.parametrize("values", SETS)
def test_services_lead_to_the_port_that_is_listened_on(values: str) -> None:
    release = render(over=values)
    for name, workload in workloads(values).items():
        (port,) = container(workload)["ports"]
        (served,) = release.one("Service", name)["spec"]["ports"]
        configured = release.environment(workload["spec"]["template"])
        (number,) = [value for key, value in configured.items() if key.endswith(("_PORT", "HEALTH__PORT"))]
        assert (port["name"], str(port["containerPort"])) == ("http", number)
        assert (served["name"], served["targetPort"]) == ("http", "http")
        assert release.one("Service", name)["spec"]["selector"] == workload["spec"]["selector"]["matchLabels"]


@pytest.mark.parametrize("values", SETS)
def test_probes_ask_what_each_is_for(values: str) -> None:
    for workload in workloads(values).values():
        asked = container(workload)
        assert asked["startupProbe"]["httpGet"] == {"path": "/livez", "port": "http"}
        assert asked["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "http"}
        assert asked["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}


def test_the_time_to_start_is_what_the_startup_probe_waits() -> None:
    probe = container(render({"probes": {"startupSeconds": 301}}).one("Deployment", "planner"))["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] == 302


@pytest.mark.parametrize("name", ["ingestion", "admin-api"])
def test_requests_still_come_until_others_have_heard_that_a_pod_ends_and_then_it_has_time(name: str) -> None:
    key = {"ingestion": "ingestion", "admin-api": "adminApi"}[name]
    pod = render({key: {"drainSeconds": 12}}).one("Deployment", name)["spec"]["template"]["spec"]
    assert pod["containers"][0]["lifecycle"] == {"preStop": {"sleep": {"seconds": 12}}}
    assert pod["terminationGracePeriodSeconds"] >= 12 + running._END_SECONDS  # noqa: SLF001 - what the program itself takes at most


def test_workers_have_the_time_that_they_may_take() -> None:
    each: float = signature(Workers.end).parameters["timeout"].default
    release = render()
    for name, workers in {"alerts": 1, "planner": 1, "statistics": 2}.items():
        pod = release.one("Deployment", name)["spec"]["template"]["spec"]
        assert pod["terminationGracePeriodSeconds"] >= workers * each + 5


@pytest.mark.parametrize("values", SETS)
def test_every_container_says_what_it_needs_and_takes(values: str) -> None:
    for workload in workloads(values).values():
        resources = container(workload)["resources"]
        assert set(resources["requests"]) == set(resources["limits"]) == {"cpu", "memory"}


@pytest.mark.parametrize("values", SETS)
def test_pods_of_a_component_are_spread_over_zones_and_nodes(values: str) -> None:
    """Zones as far as possible: where nodes have no zone, a pod that had to be spread over them would wait for ever."""
    wanted = ["ScheduleAnyway", {"production": "DoNotSchedule"}.get(values, "ScheduleAnyway")]
    for workload in workloads(values).values():
        spreads = workload["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert [each["topologyKey"] for each in spreads] == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
        assert [each["whenUnsatisfiable"] for each in spreads] == wanted
        assert all(each["labelSelector"] == workload["spec"]["selector"] for each in spreads)


def test_a_domain_may_say_itself_what_becomes_of_a_pod_that_cannot_be_spread() -> None:
    keys = [{"key": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}, {"key": "rack"}]
    for workload in render({"topologySpread": {"keys": keys}}).of("Deployment").values():
        spreads = workload["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert {each["topologyKey"]: each["whenUnsatisfiable"] for each in spreads} == {
            "topology.kubernetes.io/zone": "DoNotSchedule",
            "rack": "ScheduleAnyway",
        }


@pytest.mark.parametrize("name", ALONE)
def test_who_would_shut_out_another_ends_before_it_begins(name: str) -> None:
    deployment = render(over="full").one("Deployment", name)
    assert (deployment["spec"]["strategy"], deployment["spec"]["replicas"]) == ({"type": "Recreate"}, 1)


@pytest.mark.parametrize(
    ("component", "setting"),
    [
        ("sequencer", "GRAPHTIDE_INGESTION_REPLICATED"),
        ("planner", "GRAPHTIDE_PLANNER_REPLICATED"),
        ("statistics", "GRAPHTIDE_STATISTICS_REPLICATED"),
        ("alerts", "GRAPHTIDE_ALERTS_REPLICATED"),
    ],
)
def test_replicas_that_share_work_know_of_each_other_and_end_one_after_the_other(component: str, setting: str) -> None:
    alone, several = render(), render({component: {"replicas": 3}})
    assert alone.one("ConfigMap", component)["data"][setting] == "false"
    assert several.one("ConfigMap", component)["data"][setting] == "true"
    spec = several.one("Deployment", component)["spec"]
    assert (spec["replicas"], spec["strategy"]["rollingUpdate"]) == (3, {"maxSurge": 0, "maxUnavailable": 1})
    assert several.one("PodDisruptionBudget", component)["spec"]["maxUnavailable"] == 1
    assert not any(name.endswith(component) for name in alone.of("PodDisruptionBudget"))


def test_http_services_are_replaced_without_a_gap() -> None:
    for name in ("ingestion", "admin-api"):
        strategy = render().one("Deployment", name)["spec"]["strategy"]
        assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


def test_what_scales_a_deployment_is_not_worked_against() -> None:
    scaled = render({"ingestion": {"hpa": {"enabled": True}}})
    assert "replicas" not in scaled.one("Deployment", "ingestion")["spec"]
    target = scaled.one("HorizontalPodAutoscaler", "ingestion")["spec"]["scaleTargetRef"]
    assert target == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "tide-graphtide-ingestion"}


def test_one_pod_alone_may_always_be_evicted() -> None:
    assert set(render(over="minimal").of("PodDisruptionBudget")) == {
        "matcher-algebra",
        "matcher-event-pattern",
        "matcher-sjtree",
        "matcher-simulation",
        "matcher-timing",
    }
    assert {"ingestion", "admin-api"} <= set(render(over="production").of("PodDisruptionBudget"))


def test_a_change_of_settings_brings_new_pods_and_a_change_of_replicas_does_not() -> None:
    def template(values: dict[str, object]) -> Manifest:
        found: Manifest = render({"statistics": values}).one("Deployment", "statistics")["spec"]["template"]
        return found

    assert template({"settings": {"publishSeconds": 6}}) != template({})
    ingestion = [render({"ingestion": {"replicas": number}}).one("Deployment", "ingestion") for number in (2, 5)]
    assert ingestion[0]["spec"]["template"] == ingestion[1]["spec"]["template"]


def test_a_service_is_called_by_the_hosts_that_lead_to_it() -> None:
    release = render(over="full")
    configured = release.one("ConfigMap", "ingestion")["data"]["GRAPHTIDE_INGESTION_HOSTS"]
    assert configured == '["edges.internal.example.org","edges.example.org","edges.gateway.example.org"]'
    assert [rule["host"] for rule in release.one("Ingress", "ingestion")["spec"]["rules"]] == ["edges.example.org"]
    backends = release.one("HTTPRoute", "admin-api")["spec"]["rules"][0]["backendRefs"]
    assert backends == [{"name": "tide-admin-api", "port": release.one("Service", "admin-api")["spec"]["ports"][0]["port"]}]


@pytest.mark.parametrize("key", ["ingestion", "sequencer", "statistics", "alerts", "planner", "adminApi"])
def test_what_is_not_enabled_leaves_nothing_behind(key: str) -> None:
    name = {"adminApi": "admin-api"}.get(key, key)
    round_trip = {"roundTrip": {"enabled": False}}
    release = render({key: {"enabled": False}, **round_trip}, over="default")
    assert not [each["metadata"]["name"] for each in release.manifests if each["metadata"]["name"].endswith(f"-{name}")]


def test_sequencer_and_http_know_what_each_of_them_does() -> None:
    release = render()
    roles = {name: release.one("ConfigMap", name)["data"]["GRAPHTIDE_INGESTION_ROLES"] for name in ("ingestion", "sequencer")}
    assert roles == {"ingestion": '["http"]', "sequencer": '["sequencer"]'}


def test_what_pods_say_holds_for_all_and_more_for_some() -> None:
    release = render(over="full")
    classes = {where: pod["spec"]["priorityClassName"] for where, pod in release.pods()}
    assert classes.pop("StatefulSet/tide-matcher-simulation") == "simulation"
    assert set(classes.values()) == {"streams"}


def test_images_are_named_by_tag_and_digest() -> None:
    assert container(render().one("Deployment", "planner"))["image"] == "graphtide:0.1.0"
    full = render(over="full")
    assert container(full.one("Deployment", "planner"))["image"].startswith("graphtide:1.2.3@sha256:0123")
    assert container(full.one("Deployment", "backfill"))["image"].startswith("graphtide-spark:1.2.3-spark@sha256:1234")


@pytest.mark.parametrize("values", SETS)
def test_no_secret_stands_in_a_manifest(values: str) -> None:
    release = render(over=values)
    assert not release.of("Secret")
    for _, pod in release.pods():
        for name, value in release.environment(pod).items():
            if name.endswith(("PASSWORD", "API_KEYS", "API_KEY", "TICKET_SECRET")):
                assert isinstance(value, dict), name
                assert set(value) == {"secretKeyRef"}


def test_the_name_of_a_user_may_stand_in_values_and_the_password_may_not() -> None:
    """Operators of Kafka make Secrets that have the password alone."""
    user = {"kafka": {"sasl": {"enabled": True, "existingSecret": "user", "username": "tide"}}}
    login = {"redis": {"auth": {"existingSecret": "user", "username": "keeper"}}}
    release = render({**user, **login})
    configured = release.environment(release.one("StatefulSet", "matcher-timing")["spec"]["template"])
    mine = {name.removeprefix("GRAPHTIDE_MATCHER_TIMING_"): value for name, value in configured.items()}
    password = {"secretKeyRef": {"name": "user", "key": "password"}}
    assert (mine["KAFKA__USERNAME"], mine["KAFKA__PASSWORD"]) == ("tide", password)
    assert (mine["REDIS_USERNAME"], mine["REDIS_PASSWORD"]) == ("keeper", password)


def test_notes_say_what_is_not_protected() -> None:
    def notes(*options: str) -> str:
        shown = helm("install", RELEASE, str(CHART), "--namespace", NAMESPACE, "--dry-run=client", "--hide-secret", *options)
        return shown.partition("NOTES:")[2]

    plain = notes("--set", "access.insecure=true,networkPolicy.enabled=false")
    for said in ("access.insecure is set", "kafka.tls.enabled", "redis.tls.enabled", "networkPolicy.enabled"):
        assert said in plain
    secured = notes("--set", "kafka.tls.enabled=true,redis.tls.enabled=true")
    assert "WARNING" not in secured
    assert "helm test tide --namespace streams" in secured
