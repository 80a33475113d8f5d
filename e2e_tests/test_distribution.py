"""The wheel `graphtide` is put together from packages that know their needs: it asks for what they ask for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NOT_PUBLISHED = {"graphtide-testing"}
NATIVE = "graphtide-native"


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


WHOLE = read(ROOT / "packaging/graphtide/pyproject.toml")
PARTS = {
    project["project"]["name"]: (path, project)
    for path in sorted(ROOT.glob("s*/*/pyproject.toml"))
    if (project := read(path))["project"]["name"] not in NOT_PUBLISHED
}


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
    pure = {
        path.parent / package
        for path, project in PARTS.values()
        for package in project.get("tool", {})
        .get("hatch", {})
        .get("build", {})
        .get("targets", {})
        .get("wheel", {})
        .get("packages", ())
    }
    assert packed == pure
    assert all(path.name == name for path, name in ((Path(path), name) for path, name in included.items()))
    assert {name for name, (_, project) in PARTS.items() if "maturin" in project["build-system"]["build-backend"]} == {NATIVE}


def test_it_asks_for_the_libraries_of_its_parts_and_of_the_benchmarks() -> None:
    of_parts = set().union(*(libraries(all_of(project)) for _, project in PARTS.values()))
    extras = WHOLE["project"]["optional-dependencies"]
    assert libraries(all_of(WHOLE)) - libraries(extras["bench"]) == of_parts - libraries(extras["bench"])


def test_a_base_install_has_what_its_packages_ask_for() -> None:
    parts = [PARTS[name][1]["project"]["dependencies"] for name in ("graphtide", "graphtide-core", "graphtide-query", NATIVE)]
    assert libraries(WHOLE["project"]["dependencies"]) == set().union(*map(libraries, parts))


@pytest.mark.parametrize("project", [WHOLE, PARTS[NATIVE][1]], ids=["graphtide", NATIVE])
def test_a_wheel_says_what_it_is(project: dict[str, Any]) -> None:
    told = project["project"]
    assert told["license"] == "Apache-2.0"
    assert told["readme"] == "README.md"
    assert told["requires-python"] == ">=3.11"
    assert "Typing :: Typed" in told["classifiers"]
    folder = ROOT / "packaging/graphtide" if project is WHOLE else PARTS[NATIVE][0].parent
    assert all((folder / name).is_file() for name in (told["readme"], *told["license-files"]))


def test_lower_bounds_are_versions_that_the_tests_run_with() -> None:
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    for each in all_of(WHOLE) + all_of(PARTS[NATIVE][1]):
        if each.startswith("graphtide"):
            continue
        found = re.fullmatch(r"([a-z0-9-]+)(\[[a-z]+\])?>=([0-9.b]+)", each)
        assert found is not None, f"{each} has no lower bound"
        name, _, bound = found.groups()
        assert pins[name].startswith(bound), f"{each}, but the tests run with {pins[name]}"


def test_all_have_one_version() -> None:
    versions = {project["project"]["version"] for _, project in PARTS.values()} | {WHOLE["project"]["version"]}
    (version,) = versions
    assert f"{NATIVE}=={version}" in WHOLE["project"]["dependencies"]
    assert read(ROOT / "shared/native/Cargo.toml")["workspace"]["package"]["version"] == version


def test_every_program_is_there() -> None:
    of_parts = set().union(*(set(project["project"].get("scripts", ())) for _, project in PARTS.values()))
    assert set(WHOLE["project"]["scripts"]) == of_parts
