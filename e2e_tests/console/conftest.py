"""A deployment in one process and a browser to use its console with.

A page of a test must neither fail nor break the Content-Security-Policy: the fixture `page` sees to it.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx2
import pytest
from graphtide.dev.deployment import DevOptions, application
from graphtide_generate import GENERATORS
from graphtide_generate.stream import Recipe
from graphtide_generate.writer import write_stream
from graphtide_testing.console import ServedConsole
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, expect, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_generate.stream import GeneratedStream

ROOT: Final = Path(__file__).parents[2]
BUILT: Final = ROOT / "services/admin_api/src/graphtide_admin_api/console_files"
PATIENCE: Final = 30_000
"""Milliseconds that a page may take on a slow machine."""
_OFFLINE: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of the console where no browser is; CI has one."""
    missing = _missing()
    for each in items:
        if missing is not None and Path(each.path).parent == Path(__file__).parent:
            each.add_marker(pytest.mark.skip(reason=missing))


def _missing() -> str | None:
    if os.environ.get("CI") == "true":
        return None
    if shutil.which("chromium") is None:
        return "missing: Chromium (Debian: apt-get install chromium)"
    if not (BUILT / "index.html").is_file():
        return "missing: the console (make console)"
    return None


@pytest.fixture(scope="module")
def alert_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder of files of alerts; the deployments of a module have it, and try each alert once."""
    folder = tmp_path_factory.mktemp("alerts")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GRAPHTIDE_ALERTS_FILES", str(folder))
        environment.setenv("GRAPHTIDE_ALERTS_ATTEMPTS", "1")
        yield folder


@pytest.fixture(scope="module")
def empty(alert_files: Path) -> Iterator[ServedConsole]:
    """Return a deployment without streams and patterns."""
    with serve(application(DevOptions(lateness=0))) as url, httpx2.Client(base_url=url, timeout=60) as http:
        wait_until(lambda: http.get("/readyz").status_code == 200, 120, pause=0.1)
        yield ServedConsole(url, http)


EXFILTRATION: Final = """PATTERN exfiltration
MATCH (v)-[a:http]->(w), (w)-[b:http]->(v), (v)-[c:tcp]->(s), (s)-[d:tcp]->(v), (v)-[e:tcp]->(s)
WHERE e.bytes > 1000000
ORDER a < b < c < d < e
ON flows WINDOW 10m
DESCRIPTION 'A host fetches a page, and then sends more than a megabyte to another host.'
SEVERITY high
TAGS 'exfiltration', 'network'
MESSAGE '{v.id} fetched a page from {w.id}, and sent much to {s.id}'
"""
RELAY: Final = "PATTERN relay MATCH (a)-[x:http]->(b)-[y:dns]->(c) ORDER x < y ON flows WINDOW 1m"


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory, alert_files: Path) -> Iterator[ServedConsole]:
    """Return a deployment with a stream of flows, two patterns and their matches, a dead letter and a target of alerts."""
    stream = GENERATORS["network"](Recipe(seed=5, records=4_000, planted=6, decoys=6))
    lines = _csv_of(stream, tmp_path_factory.mktemp("flows"))
    with serve(application(DevOptions(lateness=0))) as url, httpx2.Client(base_url=url, timeout=60) as http:
        wait_until(lambda: http.get("/readyz").status_code == 200, 120, pause=0.1)
        made = ServedConsole(url, http, planted=len(stream.planted))
        made.http.put("/api/v1/targets/on-call", json={"kind": "file", "address": "on-call.jsonl"}).raise_for_status()
        made.register(EXFILTRATION)
        made.register(RELAY)
        made.send("flows", lines, type="text/csv")
        made.send("flows", '{"ts": "soon", "src": "a", "dst": "b", "label": "http"}\n{"ts": 1}\n')
        wait_until(lambda: made.matches("exfiltration") == made.planted, 120, pause=0.2)
        yield made


def _csv_of(stream: GeneratedStream, folder: Path) -> str:
    write_stream(folder / "flows.csv", stream.edges)
    return (folder / "flows.csv").read_text()


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    """Return Playwright; it holds an event loop of its thread, so it ends before tests of other files begin."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    found = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(_OFFLINE))
    yield found
    found.close()


@dataclass
class Complaints:
    """What a page said that no page should say."""

    found: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()

    def hear(self, message: ConsoleMessage) -> None:
        """Keep an error; a service's error status, which pages show, is none."""
        if message.type == "error" and "status of 4" not in message.text:
            self.found.append(message.text)


@pytest.fixture
def complaints() -> Complaints:
    return Complaints()


@pytest.fixture
def page(browser: Browser, complaints: Complaints) -> Iterator[Page]:
    """Return a page of a new visitor. It fails the test if a script fails or the policy of the console is broken."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    opened = context.new_page()
    opened.on("console", complaints.hear)
    opened.on("pageerror", lambda error: complaints.found.append(str(error)))
    yield opened
    context.close()
    assert complaints.found == []
