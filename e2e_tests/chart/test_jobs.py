"""What runs once or on Spark: topics before everything, the round trip after it, preprocess, backfill."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from graphtide.cli.app import load
from graphtide_testing.charts import render

if TYPE_CHECKING:
    from graphtide_testing.charts import Manifest, Rendered


def read_settings(release: Rendered, kind: str, name: str) -> dict[str, object]:
    workload = release.one(kind, name)
    pod = workload if kind == "Pod" else workload["spec"]["template"]
    return {key.removeprefix("GRAPHTIDE_INGESTION_"): value for key, value in release.environment(pod).items()}


def test_topics_are_made_before_anything_of_the_release_is_there() -> None:
    release = render(over="full")
    job, account = release.one("Job", "topics"), release.one("ServiceAccount", "topics")
    hooks = [each["metadata"]["annotations"] for each in (account, job)]
    assert [each["helm.sh/hook"] for each in hooks] == ["pre-install,pre-upgrade"] * 2
    assert [int(each["helm.sh/hook-weight"]) for each in hooks] == [-5, 0]
    spec = job["spec"]["template"]["spec"]
    assert spec["serviceAccountName"] == account["metadata"]["name"]
    (container,) = spec["containers"]
    assert "envFrom" not in container
    assert container["command"] == ["graphtide-ingestion", "make-topics"]


def test_topics_are_those_that_the_services_will_use() -> None:
    release = render(over="full")
    job, service = read_settings(release, "Job", "topics"), read_settings(release, "Deployment", "ingestion")
    assert job.items() <= service.items()
    assert json.loads(str(job["STREAMS"])) == ["flows", "payments", "round_trip"]
    assert (job["PREFIX"], job["PARTITIONS"], job["RETENTION_MS"], job["KAFKA__REPLICATION"]) == ("full", "8", "86400000", "3")


def test_streams_are_kept_for_ever_where_nobody_says_otherwise() -> None:
    assert "RETENTION_MS" not in read_settings(render(), "Job", "topics")


def test_the_round_trip_is_a_command_of_the_image_that_calls_both_services() -> None:
    release = render(over="full")
    pod = release.one("Pod", "round-trip")
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    (container,) = pod["spec"]["containers"]
    program, verb, *arguments = container["command"]
    assert (program, arguments) == ("graphtide", ["round_trip", "--timeout", "120", "--time-unit", "us"])
    with load(verb).make_context(verb, list(arguments)) as parsed:
        assert parsed.params["stream"] == "round_trip"
    assert read_settings(release, "Pod", "round-trip") == {
        "GRAPHTIDE_SERVER": "http://tide-admin-api.streams.svc",
        "GRAPHTIDE_EDGES_SERVER": "http://tide-ingestion.streams.svc",
        "GRAPHTIDE_API_KEY": {"secretKeyRef": {"name": "graphtide-access", "key": "api-key"}},
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=full",
    }
    assert {"admin-api", "ingestion"} <= set(release.of("Service"))


def test_the_round_trip_needs_no_key_where_nobody_is_asked_for_one() -> None:
    release = render({"access": {"insecure": True}})
    assert "GRAPHTIDE_API_KEY" not in read_settings(release, "Pod", "round-trip")
    assert not [name for name in read_settings(release, "Deployment", "ingestion") if name.endswith("API_KEYS")]


def pods_of_spark() -> list[Manifest]:
    spec = render(over="full").one("SparkApplication", "preprocess")["spec"]
    return [spec[part]["template"] for part in ("driver", "executor")]


def test_driver_and_executors_have_the_same_settings_and_different_names() -> None:
    release = render(over="full")
    driver, executor = pods_of_spark()
    assert release.environment(driver) == release.environment(executor)
    components = [pod["metadata"]["labels"]["app.kubernetes.io/component"] for pod in (driver, executor)]
    assert components == ["preprocess", "preprocess-executor"]
    selector = release.one("Service", "preprocess")["spec"]["selector"]
    assert selector["app.kubernetes.io/component"] == "preprocess"


def test_only_the_driver_calls_kubernetes() -> None:
    driver, executor = pods_of_spark()
    assert (driver["spec"]["automountServiceAccountToken"], executor["spec"]["automountServiceAccountToken"]) == (True, False)
    assert "serviceAccountName" not in executor["spec"]
    role = render(over="full").one("Role", "preprocess")
    assert [rule["resources"] for rule in role["rules"]] == [["pods", "services", "configmaps", "persistentvolumeclaims"]]


def test_a_driver_by_itself_has_cores_of_its_own_and_no_rights() -> None:
    release = render(over="other")
    assert not release.of("SparkApplication")
    assert "preprocess" not in release.of("Role")
    pod = release.one("Deployment", "preprocess")["spec"]["template"]
    assert release.environment(pod)["GRAPHTIDE_PREPROCESS_MASTER"] == "local[2]"
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert pod["spec"]["terminationGracePeriodSeconds"] == 140


def test_the_sequencer_leaves_to_spark_what_spark_puts_in_order() -> None:
    release = render(over="full")
    spark = release.one("ConfigMap", "preprocess")["data"]["GRAPHTIDE_PREPROCESS_STREAMS"]
    assert spark == read_settings(release, "Deployment", "sequencer")["ELSEWHERE"] == '["payments"]'


@pytest.mark.parametrize("values", ["default", "minimal"])
def test_spark_is_off_unless_it_is_asked_for(values: str) -> None:
    release = render(over=values)
    assert not release.of("SparkApplication")
    assert "preprocess" not in release.of("ConfigMap")


def test_in_production_spark_puts_the_streams_in_order_and_http_is_all_that_ingestion_does() -> None:
    release = render(over="production")
    settings = release.one("ConfigMap", "preprocess")["data"]
    ingestion, sequencer = (read_settings(release, "Deployment", name) for name in ("ingestion", "sequencer"))
    assert settings["GRAPHTIDE_PREPROCESS_STREAMS"] == sequencer["ELSEWHERE"] == '["flows"]'
    assert set(json.loads(settings["GRAPHTIDE_PREPROCESS_STREAMS"])) < set(json.loads(str(ingestion["STREAMS"])))
    assert settings["GRAPHTIDE_PREPROCESS_RETENTION_MS"] == ingestion["RETENTION_MS"]
    assert ingestion["ROLES"] == '["http"]'
    assert release.one("SparkApplication", "preprocess")["spec"]["executor"]["cores"] == 1


@pytest.mark.parametrize("claim", ["", "slices"])
def test_finished_slices_outlive_the_pod_of_backfill(claim: str) -> None:
    release = render({"backfill": {"enabled": True, "persistence": {"existingClaim": claim}}})
    pod = release.one("Deployment", "backfill")["spec"]["template"]
    (volume,) = [each for each in pod["spec"]["volumes"] if "persistentVolumeClaim" in each]
    (mount,) = [each for each in pod["spec"]["containers"][0]["volumeMounts"] if each["name"] == volume["name"]]
    assert release.environment(pod)["GRAPHTIDE_BACKFILL_FOLDER"] == mount["mountPath"]
    assert volume["persistentVolumeClaim"] == {"claimName": claim or "tide-graphtide-backfill"}
    assert bool(release.of("PersistentVolumeClaim")) is not bool(claim)


def test_times_are_counted_alike_everywhere() -> None:
    release = render(over="full")
    units = {
        name: value
        for each in release.of("ConfigMap").values()
        for name, value in each["data"].items()
        if name.endswith(("_UNIT", "_TIME_UNIT"))
    }
    assert set(units.values()) == {"us"}
    services = ("PLANNER_TIME", "INGESTION", "PREPROCESS", "ADMIN_API")
    assert {f"GRAPHTIDE_{each}_UNIT" for each in services} == set(units)
