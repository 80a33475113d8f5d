"""The chart's NetworkPolicies hold: each pod has a network namespace with rules made of them, and everybody calls everybody.

What is expected is written here, as the architecture says who speaks with whom; it is not made of the policies.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any, Final

import pytest
from graphtide_testing.charts import NAMESPACE, render
from graphtide_testing.cluster.network import apart
from graphtide_testing.cluster.reaching import find_reached

KAFKA, REDIS, TELEMETRY, DNS, ISSUER, API = 9093, 6379, 4318, 53, 443, 6443

AROUND: Final = {
    "kafka": (KAFKA, 9092),
    "redis": (REDIS, 16379),
    "observability": (TELEMETRY,),
    "kube-system": (DNS, API),
    "ingress-nginx": (80,),
    "monitoring": (9090,),
    "strangers": (KAFKA, REDIS, TELEMETRY, DNS, 8080),
}
"""What is around a release, a namespace each, and where it listens: strangers stand for any other program."""

WORKERS: Final = (
    "sequencer",
    "statistics",
    "alerts",
    "planner",
    "matcher-timing",
    "matcher-sjtree",
    "matcher-simulation",
    "matcher-algebra",
    "matcher-event-pattern",
    "backfill",
)
CALLED: Final = ("ingestion", "admin-api")
SPARK: Final = ("preprocess", "preprocess-executor")


def _can_be_tried() -> bool:
    if os.geteuid():
        return False
    return subprocess.run(apart(["true"]), check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(not _can_be_tried(), reason="namespaces take root, and a machine that gives them")
def test_what_the_architecture_names_goes_through_and_nothing_else() -> None:
    release = render(over="production")
    pods: list[dict[str, Any]] = []
    for _, pod in release.pods():
        labels = pod["metadata"]["labels"]
        component = labels["app.kubernetes.io/component"]
        if component in {each["name"] for each in pods}:
            continue
        ports = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0].get("ports", ())}
        # Beside its own ports, each listens where no other may connect.
        pods.append({"name": component, "namespace": NAMESPACE, "labels": labels, "ports": {**ports, "other": 9999}})
    for name, ports_there in AROUND.items():
        labels = {"kubernetes.io/metadata.name": name}
        ports = {f"p{port}": port for port in ports_there}
        pods.append({"name": name, "namespace": name, "namespace_labels": labels, "ports": ports})
    by_name = {each["name"]: each for each in pods}
    assert {*WORKERS, *CALLED, *SPARK, "topics", "round-trip"} <= by_name.keys()

    found = find_reached(pods, [each for each in release.manifests if each["kind"] == "NetworkPolicy"])

    def http(component: str) -> tuple[str, int]:
        return component, by_name[component]["ports"]["http"]

    expected = {(source, *http(target)) for source in ("ingress-nginx", "round-trip") for target in CALLED}
    expected |= {("monitoring", *http(target)) for target in (*WORKERS, *CALLED, "preprocess")}
    inside = [each["name"] for each in pods if each["namespace"] == NAMESPACE]
    expected |= {(source, "kube-system", DNS) for source in inside}
    expected |= {(source, "kafka", KAFKA) for source in inside if source != "round-trip"}
    expected |= {(source, "redis", REDIS) for source in inside if source.startswith(("matcher-", "admin-api"))}
    expected |= {(source, "observability", TELEMETRY) for source in (*WORKERS, *CALLED, *SPARK)}
    expected.add(("preprocess", "kube-system", API))
    between = ((one, other) for one in SPARK for other in SPARK if one != other)
    expected |= {(one, other, port) for one, other in between for port in by_name[other]["ports"].values()}
    # What is around is not the release's to bind.
    around = {(source, target, port) for source in AROUND for target in AROUND if source != target for port in AROUND[target]}
    assert found - around == expected
    assert around <= found, "every listener can be reached where no policy is"
