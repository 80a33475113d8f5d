"""What a user adds to pods is in the pods of every component, and images come from the registry that is named."""

from __future__ import annotations

from typing import Any

import kubernetes_validate
import pytest
from graphtide_testing.charts import CHART, RefusedError, helm, render

EXTRA: dict[str, Any] = {
    "labels": {"team": "fraud"},
    "annotations": {"note": "x"},
    "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
    "extraEnvFrom": [{"secretRef": {"name": "proxy"}}],
    "extraVolumes": [{"name": "authorities", "configMap": {"name": "authorities"}}],
    "extraVolumeMounts": [{"name": "authorities", "mountPath": "/etc/authorities", "readOnly": True}],
    "initContainers": [{"name": "first", "image": "busybox", "command": ["true"]}],
    "sidecars": [{"name": "beside", "image": "busybox", "command": ["sleep", "inf"]}],
    "hostAliases": [{"ip": "10.0.0.7", "hostnames": ["kafka-0.example.org"]}],
    "dnsPolicy": "ClusterFirst",
    "dnsConfig": {"options": [{"name": "ndots", "value": "1"}]},
}
ENDING = {"Job", "Pod"}


def has_all(where: str, pod: dict[str, Any]) -> None:
    metadata, spec = pod["metadata"], pod["spec"]
    main, *beside = spec["containers"]
    assert metadata["labels"]["team"] == "fraud", where
    assert [each["name"] for each in spec["initContainers"]][:1] == ["first"], where
    if where.partition("/")[0] in ENDING:
        assert beside == []
        assert spec["initContainers"][1:] == [{**EXTRA["sidecars"][0], "restartPolicy": "Always"}], where
    else:
        assert beside == EXTRA["sidecars"], where
    assert EXTRA["extraEnv"][0] in main["env"], where
    assert EXTRA["extraEnvFrom"][0] in main["envFrom"], where
    assert EXTRA["extraVolumes"][0] in spec["volumes"], where
    assert EXTRA["extraVolumeMounts"][0] in main["volumeMounts"], where
    assert {name: spec[name] for name in ("hostAliases", "dnsPolicy", "dnsConfig")} == {
        name: EXTRA[name] for name in ("hostAliases", "dnsPolicy", "dnsConfig")
    }, where


@pytest.mark.parametrize("over", ["default", "full", "other"])
def test_what_all_pods_say_is_in_those_of_every_component(over: str) -> None:
    release = render({"pods": EXTRA}, over=over)
    pods = list(release.pods())
    assert len(pods) > 10
    for where, pod in pods:
        has_all(where, pod)
    for each in release.manifests:
        if each["kind"] in {"Deployment", "StatefulSet", "Job", "Pod"}:
            kubernetes_validate.validate(each, "1.30", strict=True)


def test_a_component_may_say_otherwise() -> None:
    release = render({"pods": EXTRA, "planner": {"pods": {"sidecars": [], "hostAliases": []}}})
    planner, sequencer = (release.one("Deployment", name)["spec"]["template"]["spec"] for name in ("planner", "sequencer"))
    assert (len(planner["containers"]), planner.get("hostAliases")) == (1, None)
    assert (len(sequencer["containers"]), sequencer["hostAliases"]) == (2, EXTRA["hostAliases"])


def test_labels_of_all_are_on_every_object_and_pod_and_select_nothing() -> None:
    release = render({"commonLabels": {"cost": "fraud", "app.kubernetes.io/name": "mine"}}, over="full")
    for each in release.manifests:
        assert each["metadata"]["labels"]["cost"] == "fraud", each["metadata"]["name"]
        assert each["metadata"]["labels"]["app.kubernetes.io/name"] != "mine"
        assert "cost" not in str(each.get("spec", {}).get("selector", {}))
    for where, pod in release.pods():
        assert pod["metadata"]["labels"]["cost"] == "fraud", where


def images(values: dict[str, Any]) -> set[str]:
    release = render(values, over="full")
    found = {each["image"] for _, pod in release.pods() for each in pod["spec"]["containers"] if "image" in each}
    return found | {each["spec"]["image"] for each in release.of("SparkApplication").values()}


def test_images_come_from_their_registry_or_from_that_of_all_charts() -> None:
    plain = {"image": {"repository": "graphtide", "digest": ""}, "sparkImage": {"repository": "spark", "digest": ""}}
    registries = {"image": "a.example", "sparkImage": "b.example/x"}
    own = {name: {**image, "registry": registries[name]} for name, image in plain.items()}
    assert {each.rpartition(":")[0] for each in images(plain)} == {"graphtide", "spark"}
    assert {each.rpartition(":")[0] for each in images(own)} == {"a.example/graphtide", "b.example/x/spark"}
    everywhere = {**own, "global": {"imageRegistry": "mirror.example:5000", "storageClass": "of another chart"}}
    assert {each.rpartition(":")[0] for each in images(everywhere)} == {
        "mirror.example:5000/graphtide",
        "mirror.example:5000/spark",
    }


def test_secrets_of_registries_are_those_of_the_image_and_of_all_charts_each_once() -> None:
    values = {"image": {"pullSecrets": [{"name": "own"}]}, "global": {"imagePullSecrets": ["all", {"name": "own"}]}}
    for where, pod in render(values).pods():
        assert sorted(each["name"] for each in pod["spec"]["imagePullSecrets"]) == ["all", "own"], where


def test_what_no_pod_may_have_is_still_refused() -> None:
    with pytest.raises(RefusedError, match="there is no such name"):
        helm("template", "tide", str(CHART), "--set", "pods.extraVolume=x")
