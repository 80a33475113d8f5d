"""The recipe for an engine names every file that knows engines."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from graphtide_core.plans import plan_classes
from graphtide_query.families import FAMILIES
from graphtide_testing.wire_examples import EXAMPLES
from graphtide_wire.control import PlanRecord
from graphtide_wire.schemas import schemas

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[3]
RECIPE: Final = "Adding an engine"
OURS: Final = [each for each in plan_classes() if not each.__module__.startswith("graphtide_testing")]
"""Other tests of the process may have loaded a toy."""

PLANS: Final = {each: name for each in OURS for name in each.engines}
NAMES: Final = [name for each in FAMILIES.values() for name in each.names]
KNOWING: Final = {
    "services/graphtide/src/graphtide/options.py": "refuses options that one engine alone has",
    "shared/native/crates/graphtide-match/src/matcher/subgraphs/making.rs": "fills places of removed patterns",
}
"""Files that name an engine and that no recipe needs to name, and why."""


def recipe() -> str:
    _, _, after = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition(f"## {RECIPE}\n")
    return after.partition("\n## ")[0]


def list_engines() -> set[str]:
    """Return the files and folders that the recipe names."""
    return set(re.findall(r"`((?:services|shared|docs)/[^`]+)`", recipe()))


def names_engines(file: Path) -> bool:
    """Whether a file of Python has the name of an engine as a text, or imports the class of its plans."""
    classes, text = {each.__name__ for each in PLANS}, file.read_text("utf-8")
    if not any(name in text for name in (*NAMES, *classes)):
        return False
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES:
            return True
        if isinstance(node, ast.ImportFrom) and not classes.isdisjoint(each.name for each in node.names):
            return True
    return False


def knowing() -> Iterator[str]:
    """Return the files of the product that know an engine, but for crates of families, which have the engines themselves."""
    for folder in ("services/*/src", "shared/*/src", "shared/native/python"):
        for place in ROOT.glob(folder):
            for file in place.rglob("*.py"):
                if not {"bench", "testing"} & {*file.relative_to(ROOT).parts} and names_engines(file):
                    yield file.relative_to(ROOT).as_posix()
    for file in (ROOT / "shared/native/crates").glob("*/src/**/*.rs"):
        if re.search(r"\b(PlanSpec|AnyEngine)::[A-Z]", file.read_text("utf-8")):
            yield file.relative_to(ROOT).as_posix()


def test_it_names_each_file_that_knows_engines() -> None:
    named = list_engines()
    found = {each for each in knowing() if not any(each == one or each.startswith(f"{one}/") for one in named)}
    assert found == KNOWING.keys()


def test_what_it_names_is_there() -> None:
    missing = {each for each in list_engines() if not (ROOT / each).exists()}
    assert missing == set()


def test_each_engine_is_of_one_family_and_has_plans() -> None:
    assert sorted(NAMES) == sorted({*NAMES})
    assert {*NAMES} == {name for each in PLANS for name in each.engines}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_says_of_each_engine_its_variants_and_its_service(family: str) -> None:
    of = FAMILIES[family]
    assert set(of.variants) == set(of.names) == set(of.services)
    assert all((ROOT / "services" / each).is_dir() for each in of.services.values())


@pytest.mark.parametrize("name", NAMES)
def test_an_engine_has_an_example_of_its_plans_and_their_schema(name: str) -> None:
    plans = [each.value for each in EXAMPLES if isinstance(each.value, PlanRecord)]
    assert any(each.engine == name for each in plans)
    assert f'"{name}"' in schemas()["control.plans.json"]


@pytest.mark.parametrize("name", NAMES)
def test_documents_say_what_it_is(name: str) -> None:
    pages = [ROOT / "docs/architecture.md", ROOT / "docs/papers.md", *(ROOT / "docs/reference").glob("*.md")]
    assert any(f"`{name}`" in page.read_text("utf-8") or f"--engine {name}" in page.read_text("utf-8") for page in pages)
