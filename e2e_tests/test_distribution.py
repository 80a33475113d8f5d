"""The wheel `graphtide` holds packages that know their needs, and asks for what they ask for; two more wheels hold one each."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NOT_PUBLISHED = {"graphtide-testing"}
NATIVE, BENCH = "graphtide-native", "graphtide-bench"


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


WHOLE = read(ROOT / "packaging/graphtide/pyproject.toml")
PARTS = {
    project["project"]["name"]: (path, project)
    for path in sorted(ROOT.glob("s*/*/pyproject.toml"))
    if (project := read(path))["project"]["name"] not in NOT_PUBLISHED
}
ALONE = {name: PARTS.pop(name) for name in (NATIVE, BENCH)}
"""Packages that are published as they are."""
PUBLISHED = [WHOLE, *(project for _, project in ALONE.values())]


def libraries(requirements: list[str]) -> set[str]:
    """Return names of libraries, in the same form, without our own."""
    names = {re.split(r"[\[<>=!~ ;]", each, maxsplit=1)[0].lower() for each in requirements}
    return {name for name in names if not name.startswith("graphtide")}


def all_of(project: dict[str, Any]) -> list[str]:
    extras = project["project"].get("optional-dependencies", {})
    return [*project["project"]["dependencies"], *(each for extra in extras.values() for each in extra)]


def test_every_package_is_in_a_wheel() -> None:
    included = WHOLE["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    packed = {(ROOT / "packaging/graphtide" / path).resolve() for path in included}
    assert packed == {
        path.parent / package
        for path, project in PARTS.values()
        for package in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    }
    assert all(path.name == name for path, name in ((Path(path), name) for path, name in included.items()))


def test_it_asks_for_the_libraries_of_its_parts() -> None:
    parts = [project for _, project in PARTS.values()] + [ALONE[NATIVE][1]]
    assert libraries(all_of(WHOLE)) == set().union(*(libraries(all_of(project)) for project in parts))


def test_a_base_install_has_what_its_packages_ask_for() -> None:
    names = ("graphtide", "graphtide-core", "graphtide-generate", "graphtide-query")
    parts = [*(PARTS[name][1] for name in names), ALONE[NATIVE][1]]
    asked = [project["project"]["dependencies"] for project in parts]
    assert libraries(WHOLE["project"]["dependencies"]) == set().union(*map(libraries, asked))


def test_the_benchmarks_come_with_their_extra_alone() -> None:
    version = WHOLE["project"]["version"]
    assert WHOLE["project"]["optional-dependencies"]["bench"] == [f"{BENCH}=={version}"]
    assert f"graphtide=={version}" in ALONE[BENCH][1]["project"]["dependencies"]


@pytest.mark.parametrize("project", PUBLISHED, ids=["graphtide", *ALONE])
def test_a_wheel_says_what_it_is(project: dict[str, Any]) -> None:
    configured = project["project"]
    assert configured["license"] == "Apache-2.0"
    assert configured["readme"] == "README.md"
    assert configured["requires-python"] == ">=3.11"
    assert "Typing :: Typed" in configured["classifiers"]
    folder = ROOT / "packaging/graphtide" if project is WHOLE else ALONE[configured["name"]][0].parent
    assert all((folder / name).is_file() for name in (configured["readme"], *configured["license-files"]))


def test_lower_bounds_are_versions_that_the_tests_run_with() -> None:
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    for each in (each for project in PUBLISHED for each in all_of(project)):
        if each.startswith("graphtide"):
            continue
        found = re.fullmatch(r"([a-z0-9-]+)(\[[a-z]+\])?>=([0-9.b]+)", each)
        assert found is not None, f"{each} has no lower bound"
        name, _, bound = found.groups()
        assert pins[name].startswith(bound), f"{each}, but the tests run with {pins[name]}"


def test_all_have_one_version() -> None:
    versions = {project["project"]["version"] for project in (*PUBLISHED, *(part for _, part in PARTS.values()))}
    (version,) = versions
    assert f"{NATIVE}=={version}" in WHOLE["project"]["dependencies"]
    assert read(ROOT / "shared/native/Cargo.toml")["workspace"]["package"]["version"] == version


def test_every_program_is_there() -> None:
    of_parts = set().union(*(set(project["project"].get("scripts", ())) for _, project in PARTS.values()))
    assert set(WHOLE["project"]["scripts"]) == of_parts
