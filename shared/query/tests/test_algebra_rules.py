"""Transformation rules give what their examples and fixtures say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest
from graphtide_query.families.algebra import regular_laws
from graphtide_query.families.algebra.rules import RULES, name_of
from graphtide_testing.algebra_text import read, write_text

FIXTURES = Path(__file__).parent / "fixtures" / "rules"


def cases(name: str) -> list[tuple[str, list[str]]]:
    """Return the pairs of a fixture file: an expression, and what the rule makes of it, a line each after `=> `."""
    found: list[tuple[str, list[str]]] = []
    for line in (FIXTURES / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("=> "):
            found[-1][1].append(line.removeprefix("=> "))
        elif line and not line.startswith("#"):
            found.append((line, []))
    return found


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_a_rule_gives_what_its_fixtures_say(rule) -> None:  # type: ignore[no-untyped-def]  # a rule of any module
    pairs = cases(rule.__name__)
    assert any(after for _, after in pairs), "some case is rewritten"
    assert any(not after for _, after in pairs), "and some is not"
    for before, after in pairs:
        assert [write_text(each) for each in rule(read(before))] == after, before


def test_every_fixture_is_of_a_rule() -> None:
    assert {each.stem for each in FIXTURES.iterdir()} == {rule.__name__ for rule in RULES}


@pytest.mark.parametrize("name", [rule.__module__ for rule in RULES] + [regular_laws.__name__])
def test_examples_in_docstrings_hold(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted >= 2, "an import and an example"
    assert found.failed == 0
