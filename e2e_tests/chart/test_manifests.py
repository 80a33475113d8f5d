"""Every manifest of the chart is one that Kubernetes takes, in all its versions, and no field of it is unknown."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
from graphtide_testing.charts import CHART, NAMESPACE, SETS, Manifest, files, helm, render

VERSIONS = [f"1.{minor}" for minor in range(30, 38)]
ENDS = {VERSIONS[0], VERSIONS[-1]}

CUSTOM = {
    "HTTPRoute": "http-route",
    "PrometheusRule": "prometheus-rule",
    "ScaledObject": "scaled-object",
    "ServiceMonitor": "service-monitor",
    "SparkApplication": "spark-application",
}
"""Kinds that are not part of Kubernetes, with the schemas of the fields that we use."""


@cache
def schema(kind: str) -> dict[str, Any]:
    path = Path(__file__).parent / "schemas" / f"{CUSTOM[kind]}.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def is_custom(manifest: Manifest) -> bool:
    return manifest["kind"] in CUSTOM


def distinct() -> list[Manifest]:
    """Return all manifests of all sets, each once."""
    every = {json.dumps(each, sort_keys=True): each for values in SETS for each in render(over=values).manifests}
    return list(every.values())


@pytest.mark.parametrize("values", SETS)
def test_helm_has_nothing_to_say(values: str) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART), *files(values))


@pytest.mark.parametrize("version", [pytest.param(each, marks=[] if each in ENDS else [pytest.mark.slow]) for each in VERSIONS])
def test_manifests_are_those_of_their_schemas(version: str) -> None:
    plain = [manifest for manifest in distinct() if not is_custom(manifest)]
    assert {"Deployment", "StatefulSet", "NetworkPolicy"} <= {manifest["kind"] for manifest in plain}
    for manifest in plain:
        kubernetes_validate.validate(manifest, version, strict=True)


def test_custom_resources_have_the_fields_that_their_operators_know() -> None:
    seen = set()
    for manifest in distinct():
        if is_custom(manifest):
            seen.add(manifest["kind"])
            jsonschema.validate(manifest, schema(manifest["kind"]))
    assert seen == set(CUSTOM)


def test_a_field_that_is_none_is_found() -> None:
    deployment = json.loads(json.dumps(render().one("Deployment", "planner")))
    deployment["spec"]["template"]["spec"]["serviceAccount_name"] = "x"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(deployment, VERSIONS[-1], strict=True)


@pytest.mark.parametrize("values", SETS)
def test_everything_is_in_the_namespace_of_the_release_and_has_its_labels(values: str) -> None:
    for manifest in render(over=values).manifests:
        assert manifest["metadata"]["namespace"] == NAMESPACE
        labels = manifest["metadata"]["labels"]
        assert (labels["app.kubernetes.io/instance"], labels["app.kubernetes.io/part-of"]) == ("tide", "graphtide")


@pytest.mark.parametrize("values", SETS)
def test_no_two_manifests_have_one_name(values: str) -> None:
    names = [(each["kind"], each["metadata"]["name"]) for each in render(over=values).manifests]
    assert len(names) == len(set(names))


def test_pods_in_which_nothing_changes_outlive_an_upgrade_of_the_chart() -> None:
    for _, pod in render(over="full").pods():
        labels = pod["metadata"]["labels"]
        if pod.get("kind") != "Pod":
            assert not {"helm.sh/chart", "app.kubernetes.io/version"} & set(labels)
