"""The job without the Spark operator gets the same settings as with it."""

from __future__ import annotations

import importlib.util
import io
import shlex
import sys
from typing import TYPE_CHECKING, Any

import kubernetes_validate
import pytest
import yaml
from graphtide_testing.charts import NAMESPACE, ROOT, render

if TYPE_CHECKING:
    from pathlib import Path

    from graphtide_testing.charts import Manifest


def submit() -> Any:
    spec = importlib.util.spec_from_file_location("submit", ROOT / "k8s" / "spark" / "submit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def application() -> Manifest:
    return render(over="full").one("SparkApplication", "preprocess")


def hand_over(monkeypatch: pytest.MonkeyPatch, manifest: str, folder: Path) -> None:
    monkeypatch.setattr(sys, "argv", ["submit.py", "k8s://https://cluster:6443", str(folder)])
    monkeypatch.setattr(sys, "stdin", io.StringIO(manifest))


def test_pods_are_those_of_the_application(application: Manifest) -> None:
    pods = submit().pods(application)
    assert {name: pod["spec"] for name, pod in pods.items()} == {
        f"{part}-pod.yaml": application["spec"][part]["template"]["spec"] for part in ("driver", "executor")
    }
    for pod in pods.values():
        kubernetes_validate.validate(pod, "1.37", strict=True)


def test_spark_submit_gets_what_the_operator_gets(
    application: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_over(monkeypatch, yaml.safe_dump(application), tmp_path)
    submit().main()
    configured = shlex.split(capsys.readouterr().out)
    spec = application["spec"]
    assert configured[:3] == ["spark-submit", "--master", "k8s://https://cluster:6443"]
    assert configured[-1] == spec["mainApplicationFile"]
    assert {
        f"spark.kubernetes.namespace={NAMESPACE}",
        f"spark.kubernetes.container.image={spec['image']}",
        f"spark.kubernetes.authenticate.driver.serviceAccountName={spec['driver']['serviceAccount']}",
        f"spark.kubernetes.driver.podTemplateFile={tmp_path / 'driver-pod.yaml'}",
        f"spark.dynamicAllocation.maxExecutors={spec['dynamicAllocation']['maxExecutors']}",
        f"spark.executor.memory={spec['executor']['memory']}",
        *(f"{name}={value}" for name, value in spec["sparkConf"].items()),
    } <= set(configured)
    assert yaml.safe_load((tmp_path / "executor-pod.yaml").read_text("utf-8"))["kind"] == "Pod"


def test_values_without_the_job_are_refused_by_what_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hand_over(monkeypatch, "", tmp_path)
    with pytest.raises(SystemExit, match=r"preprocess\.enabled: true"):
        submit().main()
