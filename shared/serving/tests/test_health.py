"""A process says over HTTP whether it lives, and whether it can do its work."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import httpx2
import pytest
from graphtide_core.errors import FatalError, TransientError
from graphtide_serving.health_server import HealthPortError, HealthSettings, serving
from graphtide_serving.loop import Backoff, Patience, run
from graphtide_telemetry.health import STUCK_SECONDS, Finding, Pulse, beat, check
from graphtide_testing.clock import ManualClock
from graphtide_testing.telemetry import count_metrics, metrics_of

PROMPT = Patience(Backoff(0.0))


class Scripted:
    """A worker that does in each round what the next of its acts does, and then stops."""

    name = "scripted"

    def __init__(self, *acts: object) -> None:
        self.acts = list(acts)
        self.stop = Event()

    def open(self) -> None:
        """Need nothing."""

    def step(self) -> None:
        act = self.acts.pop(0)
        if not self.acts:
            self.stop.set()
        if isinstance(act, Exception):
            raise act
        if callable(act):
            act()

    def close(self) -> None:
        """Hold nothing."""


def test_a_loop_that_makes_no_rounds_is_dead_after_its_time_and_alive_with_its_next() -> None:
    clock = ManualClock()
    pulse = Pulse("w", clock)
    clock.sleep(STUCK_SECONDS)
    assert pulse.alive() == Finding("w")
    clock.sleep(1)
    assert pulse.alive() == Finding("w", "no sign of life for 121 seconds")
    pulse.did_round()
    assert pulse.alive() == Finding("w")


def test_a_worker_is_ready_between_its_first_round_and_a_failure() -> None:
    found: list[Finding] = []
    pulse = Pulse("scripted", ManualClock())

    def look() -> None:
        found.append(pulse.ready())

    worker = Scripted(look, look, TransientError("the log is away"), look, look)
    found.append(pulse.ready())
    run(worker, worker.stop, PROMPT, pulse)
    reasons = [each.wrong for each in found]
    away = "the log is away (stands still since 2026-01-01T00:00:00+00:00)"
    assert reasons == ["it is not open yet", "it is not open yet", None, away, None]
    assert pulse.ready().wrong == "it was asked to end"


def test_a_worker_that_fails_again_and_again_says_since_when_it_stands_still() -> None:
    clock = ManualClock()
    pulse = Pulse("failing", clock)
    for failure in range(3):
        pulse.failed(f"failure {failure}")
        clock.sleep(60)
    assert pulse.ready().wrong == "failure 2 (stands still since 2026-01-01T00:00:00+00:00)"
    pulse.did_round()
    pulse.failed("another")
    assert pulse.ready().wrong == "another (stands still since 2026-01-01T00:03:00+00:00)"


def test_long_work_within_a_round_gives_signs_of_life_of_its_own() -> None:
    clock = ManualClock()
    pulse, found = Pulse("scripted", clock), []

    def work_long() -> None:
        for _ in range(3):
            clock.sleep(STUCK_SECONDS)
            beat()
            found.append(pulse.alive())

    worker = Scripted(work_long)
    run(worker, worker.stop, pulse=pulse)
    assert found == [Finding("scripted")] * 3


def test_health_is_served_with_a_line_for_each_check() -> None:
    count_metrics()
    wrong: list[str | None] = [None]

    def ready() -> list[Finding]:
        return [Finding("w", wrong[0]), check("log", lambda: None)]

    with serving(HealthSettings(), lambda: [Finding("w", wrong[0])], ready) as url:
        assert httpx2.get(f"{url}/livez").json() == {"status": "alive", "checks": {"w": "ok"}}
        assert httpx2.get(f"{url}/readyz").json() == {"status": "ready", "checks": {"w": "ok", "log": "ok"}}
        wrong[0] = "it hangs"
        for path, code in (("livez", "not-alive"), ("readyz", "not-ready")):
            answer = httpx2.get(f"{url}/{path}")
            assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
            assert (answer.json()["code"], answer.json()["checks"]["w"]) == (code, "it hangs")
        assert metrics_of(httpx2.get(f"{url}/metrics").text)["process_memory_usage_bytes"] > 1024 * 1024


def test_a_port_that_is_taken_is_an_error_and_where_none_is_wanted_there_is_none() -> None:
    with serving(HealthSettings(), list, list) as url:
        assert url is not None
        port = int(url.rpartition(":")[2])
        with pytest.raises(HealthPortError, match=str(port)), serving(HealthSettings(port=port), list, list):
            pass
    with serving(HealthSettings(enabled=False), list, list) as nothing:
        assert nothing is None


def test_a_fatal_error_in_a_check_is_a_finding_too() -> None:
    def fail() -> None:
        message = "shut out"
        raise FatalError(message)

    assert check("log", fail) == Finding("log", "shut out")


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="this machine has no IPv6")
def test_health_is_served_where_there_is_no_ipv4() -> None:
    with serving(HealthSettings(host="::1"), lambda: [Finding("w")], list) as url:
        assert url is not None
        assert url.startswith("http://[::1]:")
        assert httpx2.get(f"{url}/livez").status_code == 200
