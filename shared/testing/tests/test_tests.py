"""Every test can fail: it asserts, expects an exception, or calls a helper that does."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[3]
HELPERS: Final = ROOT / "shared" / "testing" / "src" / "graphtide_testing"
PLACES: Final = ("e2e_tests", "shared/*/tests", "services/*/tests", "shared/testing/src/graphtide_testing/contracts")

EXPECTING: Final = {"raises", "warns", "fail", "exit"}
"""Calls of pytest that fail a test if something does not come."""

WAITING: Final = {"wait_until"}
"""Helpers that fail by an exception of their own where what they wait for does not come."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def list_used(function: Function) -> set[str]:
    """Return the names of what a function calls or hands on; of methods, their own."""
    found = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    return found | {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}


def is_assertion(node: ast.AST) -> bool:
    match node:
        case ast.Assert():
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name(id="AssertionError"))):
            return True
        case ast.Attribute(value=ast.Name(id="pytest"), attr=name):
            return name in EXPECTING
    return False


def that_assert(tree: ast.Module, known: set[str]) -> set[str]:
    """Return the names of the functions of a module that assert, by themselves, by one another or by those that are known."""
    uses = {function.name: list_used(function) for function in functions(tree)}
    found = {function.name for function in functions(tree) if any(map(is_assertion, ast.walk(function)))}
    while more := {name for name, names in uses.items() if name not in found and names & (found | known)}:
        found |= more
    return found


@cache
def of_helpers(module: str) -> frozenset[str]:
    """Return the names of the functions and methods of a module of helpers that assert."""
    path = HELPERS.joinpath(*module.split(".")[1:]).with_suffix(".py")
    return frozenset(that_assert(ast.parse(path.read_text("utf-8")), WAITING)) if path.is_file() else frozenset()


def list_imports(tree: ast.Module) -> set[str]:
    """Return the names of the helpers that a module imports that assert, methods of imported classes included."""
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    return {name for module in modules if module.startswith("graphtide_testing.") for name in of_helpers(module)}


@cache
def of_fixtures(path: Path) -> frozenset[str]:
    """Return the names of the functions and methods of a conftest.py that assert."""
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(that_assert(tree, WAITING | list_imports(tree)))


def test_every_test_can_fail() -> None:
    offenders, count = [], 0
    for path in sorted(path for place in PLACES for folder in ROOT.glob(place) for path in folder.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        shared = path.parent / "conftest.py"
        fixtures = of_fixtures(shared) if shared.is_file() else frozenset()
        can_fail = that_assert(tree, {*WAITING, *list_imports(tree), *fixtures})
        tests = [function for function in functions(tree) if function.name.startswith("test_")]
        count += len(tests)
        offenders += [f"{path.relative_to(ROOT)}:{each.lineno} {each.name}" for each in tests if each.name not in can_fail]
    assert count > 1_000
    assert not offenders, "these tests can only fail by an error:\n" + "\n".join(offenders)
