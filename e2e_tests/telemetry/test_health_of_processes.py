"""Every service's process says over HTTP how it is, and says so when its log is gone."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import httpx2
import pytest
from graphtide_testing.deployment import Deployment
from graphtide_testing.servers.process import free_ports
from graphtide_testing.telemetry import metrics_of
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PATIENCE = 60.0
OWN = {
    "planner": ["test.planner"],
    "statistics": ["test.statistics", "test.match-counts"],
    "alerts": ["test.alerts"],
    "matcher_timing": ["test.matcher_timing.0"],
    "matcher_sjtree": ["test.matcher_sjtree.0"],
    "matcher_simulation": ["test.matcher_simulation.0"],
    "matcher_algebra": ["test.matcher_algebra.0"],
    "matcher_event_pattern": ["test.matcher_event_pattern.0"],
}
"""Services without HTTP of their own, and what their workers are called."""


def until(holds: Callable[[], bool]) -> None:
    def holds_and_answers() -> bool:
        with suppress(httpx2.TransportError):
            return holds()
        return False

    wait_until(holds_and_answers, PATIENCE)


def is_ready(url: str) -> bool:
    return httpx2.get(f"{url}/readyz").status_code == 200


@pytest.mark.integration
def test_processes_without_http_of_their_own_report_their_health(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    try:
        deployment.start_servers()
        ports = dict(zip(OWN, free_ports(len(OWN)), strict=True))
        for name, port in ports.items():
            deployment.service(name, {"HEALTH__PORT": str(port)}).start()
        for name, port in ports.items():
            url = f"http://127.0.0.1:{port}"
            checks = dict.fromkeys(OWN[name], "ok")
            until(partial(is_ready, url))
            assert httpx2.get(f"{url}/readyz").json() == {"status": "ready", "checks": {**checks, "log": "ok"}}
            assert httpx2.get(f"{url}/livez").json() == {"status": "alive", "checks": checks}
            assert metrics_of(httpx2.get(f"{url}/metrics").text)["process_cpu_time_seconds_total"] > 0
        deployment.kafka.kill()
        url = f"http://127.0.0.1:{ports['planner']}"
        answer = httpx2.get(f"{url}/readyz", timeout=30)
        assert (answer.status_code, answer.json()["checks"]["log"] == "ok") == (503, False)
        assert httpx2.get(f"{url}/livez").status_code == 200
    finally:
        deployment.end()
