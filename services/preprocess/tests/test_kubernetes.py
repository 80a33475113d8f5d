"""What is told to Kubernetes is well formed, and the same with and without the Spark operator."""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

FOLDER = Path(__file__).parents[3] / "k8s/preprocess"
VERSION = "1.37"


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / name).read_text("utf-8")))


def submit() -> Any:
    spec = importlib.util.spec_from_file_location("submit", FOLDER / "submit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["service-account.yaml", "settings.yaml"])
def test_manifests_are_those_of_their_schemas(name: str) -> None:
    for document in documents(name):
        kubernetes_validate.validate(document, VERSION, strict=True)


def test_the_application_is_one_of_the_operator_by_the_fields_that_it_uses() -> None:
    (application,) = documents("spark-application.yaml")
    schema = json.loads((FOLDER / "spark-application.schema.json").read_text("utf-8"))
    jsonschema.validate(application, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(application | {"spec": application["spec"] | {"imagePullPolice": "Always"}}, schema)


def test_the_image_is_that_of_this_version() -> None:
    (application,) = documents("spark-application.yaml")
    whole = tomllib.loads((FOLDER.parents[1] / "packaging/graphtide/pyproject.toml").read_text("utf-8"))
    assert application["spec"]["image"] == f"graphtide-spark:{whole['project']['version']}"


def test_pods_are_those_of_their_schemas_and_run_without_rights() -> None:
    (application,) = documents("spark-application.yaml")
    for pod in submit().pods(application).values():
        kubernetes_validate.validate(pod, VERSION, strict=True)
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        assert [each["securityContext"]["capabilities"]["drop"] for each in pod["spec"]["containers"]] == [["ALL"]]


def test_spark_submit_is_told_what_the_operator_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["submit.py", "k8s://https://cluster:6443", str(tmp_path)])
    submit().main()
    told = shlex.split(capsys.readouterr().out)
    (application,) = documents("spark-application.yaml")
    assert told[:3] == ["spark-submit", "--master", "k8s://https://cluster:6443"]
    assert told[-1] == application["spec"]["mainApplicationFile"]
    assert "spark.dynamicAllocation.maxExecutors=8" in told
    assert f"spark.kubernetes.driver.podTemplateFile={tmp_path / 'driver-pod.yaml'}" in told
    assert yaml.safe_load((tmp_path / "executor-pod.yaml").read_text("utf-8"))["kind"] == "Pod"
