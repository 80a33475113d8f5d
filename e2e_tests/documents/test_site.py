"""The documentation as a site: its pages, its links, and that it loads nothing from elsewhere."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[2]
KNOWN: Final = {"index.md", "changelog.md", "contributing.md", "how-to/secure.md", "reference/http.md", "pictures/match.svg"}


def part_of_site(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"site_{name}", ROOT / f"packaging/site/{name}.py")
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
    assert part_of_site("hooks").lead_links(text, source, page, KNOWN) == led


def built_version() -> str:
    project = tomllib.loads((ROOT / "packaging/graphtide/pyproject.toml").read_text("utf-8"))
    return str(project["project"]["version"])


def test_every_page_that_people_look_for_is_in_the_menu() -> None:
    menu = (ROOT / "packaging/site/mkdocs.yml").read_text("utf-8")
    listed = set(re.findall(r": ((?:for|tutorials|how-to|reference|explanation)/\S+\.md)$", menu, re.MULTILINE))
    pages = {
        path.relative_to(ROOT / "docs").as_posix()
        for folder in ("for", "tutorials", "how-to", "reference", "explanation")
        for path in (ROOT / "docs" / folder).glob("*.md")
    }
    assert listed == pages


def test_versions_are_listed_newest_first_and_the_first_page_leads_to_the_newest(tmp_path: Path) -> None:
    for name in ("0.9.0", "0.10.0", "0.10.0rc1", "assets", "1.x"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text("a page", "utf-8")
    (tmp_path / "2.0.0").mkdir()
    assert part_of_site("versions").write_versions(tmp_path) == ["0.10.0", "0.10.0rc1", "0.9.0"]
    listed = json.loads((tmp_path / "versions.json").read_text("utf-8"))
    assert [(each["version"], each["title"], each["aliases"]) for each in listed] == [
        ("0.10.0", "0.10.0", []),
        ("0.10.0rc1", "0.10.0rc1", []),
        ("0.9.0", "0.9.0", []),
    ]
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text("utf-8")


def test_a_site_without_a_version_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no folder of a version"):
        part_of_site("versions").write_versions(tmp_path)


@pytest.mark.slow
def test_the_site_is_built_and_loads_nothing_from_elsewhere() -> None:
    done = subprocess.run(["make", "docs"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    versions = json.loads((ROOT / "dist/site/versions.json").read_text("utf-8"))
    site = ROOT / "dist/site" / built_version()
    assert built_version() in [each["version"] for each in versions]
    assert '"provider":"mike"' in re.sub(r"\s", "", (site / "index.html").read_text("utf-8"))
    assert {"index.html", "how-to/console.html", "reference/http.html"} <= {
        path.relative_to(site).as_posix() for path in site.rglob("*.html")
    }
    for path in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"?(https?:[^\" >]+)", path.read_text("utf-8"))
        assert [each for each in loaded if "graphtide" not in each] == [], path
