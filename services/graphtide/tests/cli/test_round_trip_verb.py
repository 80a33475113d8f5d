"""`graphtide round-trip` says whether edges that go in come out as a match."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
import pytest
from graphtide import Client
from graphtide.cli.app import app
from graphtide.dev.deployment import DevOptions, application
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_core.errors import FatalError
from graphtide_log.memory import MemoryLog
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until
from graphtide_wire.topics import Topics
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve(application(DevOptions(low_latency=True))) as url:
        wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200, 60, pause=0.05)
        yield url


def test_a_deployment_that_works_is_left_as_it_was(url: str) -> None:
    ended = CliRunner().invoke(app, ["round-trip", "probe", "--server", url, "--edges-server", url], catch_exceptions=False)
    assert (ended.exit_code, "probe: edges went in and their match came out, " in ended.stdout) == (0, True)
    with Client(url) as client:
        assert client.patterns() == []


def test_a_deployment_without_a_planner_is_recognized() -> None:
    log = MemoryLog()
    log.admin().ensure(Topics().of_deployment())
    with serve(admin_api(AdminApiSettings(insecure=True), log)) as url:
        wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200, 60, pause=0.05)
        ended = CliRunner().invoke(app, ["round-trip", "probe", "--server", url, "--timeout", "0.5"])
        assert isinstance(ended.exception, FatalError)
        assert str(ended.exception).startswith("it takes too long until round_trip_")
        with Client(url) as client:
            assert client.patterns() == []
