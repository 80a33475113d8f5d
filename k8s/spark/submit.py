"""The job of the chart without the Spark operator: prints `spark-submit` with the settings of its `SparkApplication`.

`python k8s/spark/submit.py MASTER FOLDER` reads the manifest from standard input, writes the templates of pods into the folder,
and prints the command. MASTER is `k8s://https://HOST:PORT`. `make preprocess-submit` hands it what the chart makes of values.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import yaml


def options(application: dict[str, Any], master: str, folder: Path) -> list[str]:
    """Return the command; templates of pods are read from the folder."""
    spec, name = application["spec"], application["metadata"]["name"]
    driver, executor, dynamic = spec["driver"], spec["executor"], spec["dynamicAllocation"]
    settings = {
        "spark.kubernetes.namespace": application["metadata"]["namespace"],
        "spark.kubernetes.container.image": spec["image"],
        "spark.kubernetes.container.image.pullPolicy": spec["imagePullPolicy"],
        "spark.kubernetes.authenticate.driver.serviceAccountName": driver["serviceAccount"],
        "spark.kubernetes.driver.podTemplateFile": folder / "driver-pod.yaml",
        "spark.kubernetes.executor.podTemplateFile": folder / "executor-pod.yaml",
        "spark.driver.cores": driver["cores"],
        "spark.driver.memory": driver["memory"],
        "spark.executor.cores": executor["cores"],
        "spark.executor.memory": executor["memory"],
        "spark.executor.memoryOverhead": executor["memoryOverhead"],
        "spark.dynamicAllocation.enabled": str(dynamic["enabled"]).lower(),
        "spark.dynamicAllocation.initialExecutors": dynamic["initialExecutors"],
        "spark.dynamicAllocation.minExecutors": dynamic["minExecutors"],
        "spark.dynamicAllocation.maxExecutors": dynamic["maxExecutors"],
        "spark.dynamicAllocation.shuffleTracking.enabled": str(dynamic["shuffleTrackingEnabled"]).lower(),
        **spec["sparkConf"],
    }
    reported = [part for setting, value in settings.items() for part in ("--conf", f"{setting}={value}")]
    command = ["spark-submit", "--master", master, "--deploy-mode", spec["mode"], "--name", name]
    return [*command, *reported, spec["mainApplicationFile"]]


def pods(application: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the templates of the driver's and the executors' pods by the names of their files."""
    return {
        f"{kind}-pod.yaml": {"apiVersion": "v1", "kind": "Pod", **application["spec"][kind]["template"]}
        for kind in ("driver", "executor")
    }


def main() -> None:
    """Write the templates, and print the command."""
    master, folder = sys.argv[1], Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    application = yaml.safe_load(sys.stdin)
    if not application:
        sys.exit(
            "no SparkApplication: write preprocess.enabled: true and preprocess.kind: SparkApplication among the chart's values"
        )
    for name, pod in pods(application).items():
        (folder / name).write_text(yaml.safe_dump(pod, sort_keys=False), "utf-8")
    sys.stdout.write(shlex.join(options(application, master, folder)) + "\n")


if __name__ == "__main__":
    main()
