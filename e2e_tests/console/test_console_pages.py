"""Every page loads without an error, is accessible in both colours, and is readable on a phone.

`GRAPHTIDE_WRITE_DOCUMENTS=1` writes the pictures of the documentation.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from graphtide_testing.console import ServedConsole
    from playwright.sync_api import Browser, Page

ROOT: Final = Path(__file__).parents[2]
AXE: Final = ROOT / "services/console/node_modules/axe-core/axe.min.js"
PICTURES: Final = ROOT / "docs/pictures"
PAGES: Final = {
    "overview": "/",
    "streams": "/streams",
    "stream": "/streams/flows",
    "statement": "/streams/flows/statement",
    "send": "/streams/flows/send",
    "dead-letters": "/streams/flows/dead-letters",
    "patterns": "/patterns",
    "pattern": "/patterns/exfiltration",
    "plan": "/patterns/exfiltration/plan",
    "partial": "/patterns/exfiltration/partial",
    "versions": "/patterns/exfiltration/versions",
    "history-of-pattern": "/patterns/exfiltration/history",
    "editor": "/editor/exfiltration",
    "matches": "/matches",
    "match": "/matches/exfiltration/{place}",
    "alerts": "/alerts",
    "history": "/history",
    "operations": "/operations",
    "access": "/access",
}
SHOWN: Final = {"overview", "editor", "match", "statement", "plan", "alerts"}
"""Pages whose pictures the documentation has."""

PAGE_NAMES: Final = tuple(PAGES)


def open_page(page: Page, deployment: ServedConsole, name: str) -> None:
    """Open a page, and wait until nothing loads any more."""
    path = PAGES[name]
    if "{place}" in path:
        listed = deployment.http.get("/api/v1/patterns/exfiltration/matches?limit=1").json()["matches"]
        path = path.format(place=listed[0]["place"])
    page.goto(f"{deployment.url}/console{path}")
    expect(page.locator("h1")).to_be_visible()
    expect(page.get_by_text("Loading …")).to_have_count(0)


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_a_page_is_accessible(deployment: ServedConsole, page: Page, name: str) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        open_page(page, deployment, name)
        page.evaluate(AXE.read_text("utf-8"))
        found: dict[str, Any] = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        flaws = [f"{scheme}: {each['id']}: {node['html']}" for each in found["violations"] for node in each["nodes"]]
        assert flaws == []
        if os.environ.get("GRAPHTIDE_WRITE_DOCUMENTS") and scheme == "light" and name in SHOWN:
            page.wait_for_timeout(3_000)
            page.screenshot(path=PICTURES / f"console-{name}.png", full_page=False)


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_a_page_is_readable_on_a_phone(deployment: ServedConsole, browser: Browser, name: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    open_page(page, deployment, name)
    page.wait_for_load_state("networkidle")
    width: int = page.evaluate("() => document.documentElement.scrollWidth")
    context.close()
    assert width <= 390


def test_keys_lead_to_pages(deployment: ServedConsole, page: Page) -> None:
    open_page(page, deployment, "overview")
    page.keyboard.press("g")
    page.keyboard.press("p")
    expect(page.get_by_role("heading", name="Patterns", exact=True)).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Filter patterns")).to_be_focused()
    page.keyboard.type("exfil")
    expect(page.get_by_role("link", name="exfiltration")).to_be_visible()
    expect(page.get_by_role("link", name="relay")).to_have_count(0)


def test_an_unknown_page_says_so(deployment: ServedConsole, page: Page) -> None:
    page.goto(f"{deployment.url}/console/nowhere")
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
