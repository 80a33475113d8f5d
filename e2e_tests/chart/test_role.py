"""What the planner may ask of the Kubernetes API is what it asks, and nothing more."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from graphtide_log.memory import MemoryLog
from graphtide_planner.bootstrap import workers
from graphtide_planner.settings import PlannerSettings
from graphtide_testing.charts import render
from graphtide_testing.servers.kubernetes import NAMESPACE as THERE
from graphtide_testing.servers.kubernetes import Call, KubernetesApi, KubernetesServer
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from graphtide_testing.charts import Rendered

SCALED = {"enabled": True}
MODES = {
    "planner": {"matchers": {"timing": {"scaling": {"planner": SCALED, "minShards": 2, "maxShards": 3}}}},
    "hpa": {"matchers": {"timing": {"scaling": {"hpa": SCALED, "minShards": 2, "maxShards": 3}}}},
}


def allow(release: Rendered) -> set[Call]:
    """Return what the Role lets the planner ask; of names without a bound, for none."""
    return {
        Call(verb, group, resource, name)
        for rule in release.one("Role", "planner")["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def settings(release: Rendered, server: KubernetesServer) -> PlannerSettings:
    """Return the planner's settings as the chart sets them, but for where the API is."""
    configured = release.environment(release.one("Deployment", "planner")["spec"]["template"])
    here = {
        "SERVER": server.url,
        "TOKEN": str(server.token),
        "AUTHORITIES": str(server.authorities),
        "NAMESPACE": THERE,
    }
    own = {f"GRAPHTIDE_PLANNER_SCALING__{name}": value for name, value in here.items()}
    with patch.dict(
        os.environ, {name: value for name, value in configured.items() if isinstance(value, str)} | own, clear=True
    ):
        return PlannerSettings()


@pytest.mark.parametrize("mode", MODES)
def test_the_role_allows_exactly_what_the_planner_asks(mode: str, tmp_path: Path) -> None:
    release = render(MODES[mode])
    stateful_set = release.one("StatefulSet", "matcher-timing")["metadata"]["name"]
    server = KubernetesServer(KubernetesApi(), tmp_path)
    with server.running():
        server.api.put_stateful_set(stateful_set, 1)
        planner, scaler = workers(settings(release, server), MemoryLog())
        with closing(planner), closing(scaler):
            planner.open()
            scaler.open()

            def has_asked() -> bool:
                planner.step()
                scaler.step()
                return {call._replace(name="") for call in allow(release)} - _verbs(server) <= _AT_THE_END

            wait_until(has_asked, 60)
    # A client that makes a lease names it in its body alone.
    asked = {call._replace(name="") if call.verb == "create" else call for call in server.api.calls}
    assert asked == allow(release)


_AT_THE_END = {Call("update", "coordination.k8s.io", "leases")}


def _verbs(server: KubernetesServer) -> set[Call]:
    return {call._replace(name="") for call in list(server.api.calls)}
