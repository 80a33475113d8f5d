"""Every pod of the chart is one that the restricted level of Pod Security takes, and reads its root alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_testing.charts import SETS, Manifest, render

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

RESTRICTED_VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"
}  # fmt: skip


def pods() -> Iterator[tuple[str, Manifest]]:
    """Yield every pod of every set of values, with the set, the kind and the name."""
    for values in SETS:
        for where, pod in render(over=values).pods():
            yield f"{values} {where}", pod


def test_a_pod_is_restricted(subtests: pytest.Subtests) -> None:
    for where, pod in pods():
        with subtests.test(where):
            spec = pod["spec"]
            assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
            assert spec["securityContext"]["runAsNonRoot"] is True
            assert spec["securityContext"]["runAsUser"] > 0
            assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
            assert all(set(volume) - {"name"} <= RESTRICTED_VOLUMES for volume in spec["volumes"])
            for container in [*spec["containers"], *spec.get("initContainers", ())]:
                security = container["securityContext"]
                assert security["allowPrivilegeEscalation"] is False
                assert security["capabilities"] == {"drop": ["ALL"]}
                assert not {"privileged", "procMount", "seLinuxOptions"} & set(security)
                assert not any("hostPort" in port for port in container.get("ports", ()))


def test_a_container_writes_into_volumes_alone(subtests: pytest.Subtests) -> None:
    for where, pod in pods():
        with subtests.test(where):
            (container,) = pod["spec"]["containers"]
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}  # noqa: S108 - of the container
            bounded = [volume["emptyDir"] for volume in pod["spec"]["volumes"] if "emptyDir" in volume]
            assert bounded
            assert all("sizeLimit" in each for each in bounded)


def test_tokens_of_the_cluster_are_mounted_where_it_is_called_and_variables_name_no_service(
    subtests: pytest.Subtests,
) -> None:
    for where, pod in pods():
        with subtests.test(where):
            component = pod["metadata"]["labels"]["app.kubernetes.io/component"]
            assert pod["spec"]["automountServiceAccountToken"] is False or component in {"planner", "preprocess"}
            assert pod["spec"]["enableServiceLinks"] is False


def test_the_planner_has_a_token_where_it_scales_and_none_where_it_does_not() -> None:
    for values, has_token in {"default": False, "full": True, "other": True}.items():
        pod = render(over=values).one("Deployment", "planner")["spec"]["template"]
        assert pod["spec"]["automountServiceAccountToken"] is has_token
