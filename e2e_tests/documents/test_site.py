"""The documentation as a site: its pages, its links, and that it loads nothing from elsewhere."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[2]
KNOWN: Final = {"index.md", "changelog.md", "contributing.md", "how-to/secure.md", "reference/http.md", "pictures/match.svg"}


def hooks() -> Any:
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "packaging/site/hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("source", "page", "text", "led"),
    [
        ("README.md", "index.md", "[secure](docs/how-to/secure.md#keys)", "[secure](how-to/secure.md#keys)"),
        ("README.md", "index.md", "![a match](docs/pictures/match.svg)", "![a match](pictures/match.svg)"),
        ("docs/how-to/secure.md", "how-to/secure.md", "[here](../../README.md)", "[here](../index.md)"),
        ("docs/how-to/secure.md", "how-to/secure.md", "[http](../reference/http.md#x)", "[http](../reference/http.md#x)"),
        ("docs/how-to/secure.md", "how-to/secure.md", "[user](../../k8s/kafka/user.yaml)", "user"),
        ("docs/how-to/secure.md", "how-to/secure.md", "[out](https://example.org/a_(b))", "[out](https://example.org/a_(b))"),
        ("docs/how-to/secure.md", "how-to/secure.md", "[part](#keys)", "[part](#keys)"),
        ("docs/how-to/secure.md", "how-to/secure.md", "```\n[a](b.md)\n```", "```\n[a](b.md)\n```"),
    ],
)
def test_a_link_leads_to_a_page_of_the_site(source: str, page: str, text: str, led: str) -> None:
    assert hooks().lead_links(text, source, page, KNOWN) == led


def test_every_page_that_people_look_for_is_in_the_menu() -> None:
    menu = (ROOT / "packaging/site/mkdocs.yml").read_text("utf-8")
    listed = set(re.findall(r": ((?:tutorials|how-to|reference|explanation)/\S+\.md)$", menu, re.MULTILINE))
    pages = {
        path.relative_to(ROOT / "docs").as_posix()
        for folder in ("tutorials", "how-to", "reference", "explanation")
        for path in (ROOT / "docs" / folder).glob("*.md")
    }
    assert listed == pages


@pytest.mark.slow
def test_the_site_is_built_and_loads_nothing_from_elsewhere() -> None:
    done = subprocess.run(["make", "docs"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    site = ROOT / "dist/site"
    assert {"index.html", "how-to/console.html", "reference/http.html"} <= {
        path.relative_to(site).as_posix() for path in site.rglob("*.html")
    }
    for path in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"?(https?:[^\" >]+)", path.read_text("utf-8"))
        assert [each for each in loaded if "graphtide" not in each] == [], path
