"""What an attacker may put into a stream or onto another site does nothing in the console."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import httpx2
import pytest
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_log.memory import MemoryLog
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.settings import KeySettings
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until
from playwright.sync_api import expect
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_testing.console import ServedConsole
    from playwright.sync_api import Browser, Page

SCRIPTS: Final = (
    '<img src=x onerror="window.harmed = 1">',
    "<script>window.harmed = 1</script>",
    '"><svg onload=window.harmed=1>',
    "javascript:window.harmed=1",
    "{{constructor.constructor('window.harmed=1')()}}",
)
NAME: Final = "<img src=x onerror='window.harmed=1'>"
"""A name of a pattern: in backticks it may hold anything but a slash."""


@pytest.fixture
def hostile(empty: ServedConsole) -> ServedConsole:
    """Return a deployment whose names, labels, attributes and dead letters are scripts."""
    if not empty.http.get("/api/v1/patterns").json()["patterns"]:
        empty.register(f"PATTERN `{NAME}` MATCH (a)-[x]->(b)-[y]->(c) ORDER x < y ON hostile WINDOW 1h")
    edges = [
        {
            "ts": number,
            "src": script,
            "dst": SCRIPTS[(number + 1) % len(SCRIPTS)],
            "label": script,
            "id": script,
            "note": script,
        }
        for number, script in enumerate(SCRIPTS)
    ]
    empty.send("hostile", "".join(f"{json.dumps(each)}\n" for each in edges))
    empty.send("hostile", "".join(f"{script}\n" for script in SCRIPTS))
    wait_until(lambda: empty.matches(quote(NAME, safe="")) > 0, 60, pause=0.2)
    return empty


def test_no_name_label_attribute_or_dead_letter_runs_as_a_script(hostile: ServedConsole, page: Page) -> None:
    name = quote(NAME, safe="")
    listed = hostile.http.get(f"/api/v1/patterns/{name}/matches").json()["matches"]
    for path in (
        "/", "/streams", "/streams/hostile", "/streams/hostile/dead-letters", "/patterns", f"/patterns/{name}",
        f"/patterns/{name}/plan", f"/patterns/{name}/partial", f"/patterns/{name}/versions", f"/editor/{name}", "/matches",
        f"/matches/{name}/{listed[0]['place']}", "/history", "/operations",
    ):  # fmt: skip
        page.goto(f"{hostile.url}/console{path}")
        expect(page.locator("h1")).to_be_visible()
        expect(page.get_by_text("Loading …")).to_have_count(0)
        assert page.evaluate("() => window.harmed") is None, path
        assert page.locator("main img[src=x], main script, main svg[onload]").count() == 0, path
    page.goto(f"{hostile.url}/console/streams/hostile/dead-letters")
    expect(page.get_by_text(SCRIPTS[1]).first).to_be_visible()


def test_the_policy_lets_no_other_script_run(empty: ServedConsole, browser: Browser) -> None:
    answer = httpx2.get(f"{empty.url}/console/")
    given = answer.headers["Content-Security-Policy"]
    policy = dict(part.strip().split(" ", 1) for part in given.split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in given
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    page, said = browser.new_page(), list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{empty.url}/console/")
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.harmed = 1'; document.body.append(s) }"
    )
    assert page.evaluate("() => window.harmed") is None
    page.close()
    assert any("Content Security Policy" in each for each in said)


@contextmanager
def other_site(body: str) -> Iterator[str]:
    """Serve a page of another site."""
    with serve(Starlette(routes=[Route("/", lambda _: HTMLResponse(body))])) as url:
        yield url.replace("127.0.0.1", "localhost")


def test_another_site_can_neither_frame_the_console_nor_write_in_its_name(empty: ServedConsole, browser: Browser) -> None:
    registered = len(empty.http.get("/api/v1/patterns").json()["patterns"])
    attack = f"""<iframe src="{empty.url}/console/"></iframe>
    <form id=f method=post action="{empty.url}/api/v1/patterns" enctype="text/plain">
      <input name='{{"text":"PATTERN p MATCH (a)-[x]->(b) ON s WINDOW 1m","x":"' value='"}}'></form>
    <script>
      fetch("{empty.url}/api/v1/mutes", {{method: "POST", mode: "no-cors", body: '{{"pattern":"p"}}'}})
        .finally(() => {{ document.title = "tried" }})
    </script>"""
    with other_site(attack) as url:
        page = browser.new_page()
        page.goto(url)
        expect(page).to_have_title("tried")
        assert page.frames[1].locator("h1").count() == 0
        page.evaluate("() => document.getElementById('f').submit()")
        page.wait_for_load_state()
        page.close()
    assert empty.http.get("/api/v1/mutes").json()["mutes"] == []
    assert len(empty.http.get("/api/v1/patterns").json()["patterns"]) == registered


KEYS: Final = {
    "reader": ["patterns:read", "matches:read"],
    "writer": ["patterns:read", "patterns:write", "matches:read", "matches:write"],
}


@contextmanager
def with_keys() -> Iterator[str]:
    """Serve an API that asks for keys."""
    keys = [KeySettings(name=name, hash=hash_key(name), scopes=scopes) for name, scopes in KEYS.items()]
    with serve(admin_api(AdminApiSettings(api_keys=keys), MemoryLog())) as url:
        wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200, 60, pause=0.1)
        yield url


def log_in(page: Page, url: str, key: str) -> None:
    page.goto(f"{url}/console/")
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Use this key").click()


def test_a_key_is_asked_for_and_a_wrong_one_is_refused(page: Page) -> None:
    with with_keys() as url:
        log_in(page, url, "stranger")
        expect(page.get_by_role("alert")).to_contain_text("show who you are")
        log_in(page, url, "reader")
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        assert page.evaluate("() => document.cookie") == ""
        assert page.evaluate("() => localStorage.length") == 0
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("API key")).to_be_visible()


def test_a_key_that_may_only_read_cannot_write(page: Page) -> None:
    text = "PATTERN p MATCH (a)-[x]->(b) ON s WINDOW 1m"
    with with_keys() as url:
        made = httpx2.post(f"{url}/api/v1/patterns", json={"text": text}, headers={"X-API-Key": "writer"})
        assert made.status_code == 201
        log_in(page, url, "reader")
        page.get_by_role("link", name="Patterns", exact=True).click()
        page.get_by_role("link", name="p", exact=True).click()
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("alert")).to_contain_text("patterns:write")
        reader = {"X-API-Key": "reader"}
        assert httpx2.post(f"{url}/api/v1/mutes", json={"pattern": "p"}, headers=reader).status_code == 403
        acknowledged = f"{url}/api/v1/patterns/p/matches/1/acknowledgement"
        assert httpx2.put(acknowledged, json={}, headers=reader).status_code == 403
        assert httpx2.get(f"{url}/api/v1/patterns/p", headers=reader).json()["wanted"] == "active"
