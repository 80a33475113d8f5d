"""Names: a module function is a verb, and the name of a public class has one meaning."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[3]
PLACES: Final = ("services", "shared", "e2e_tests", "packaging")

IRREGULAR: Final = frozenset({
    "begun", "built", "chosen", "done", "drawn", "fallen", "found", "given", "gone", "grown", "held", "hidden", "kept", "known",
    "laid", "lost", "made", "meant", "paid", "said", "seen", "sent", "shown", "spent", "taken", "thrown", "told", "torn",
    "worn", "written",
})  # fmt: skip
"""Participles that do not end in -ed."""

FUNCTION: Final = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)

VERBS: Final = frozenset({"embed", "exceed", "feed", "need", "proceed", "seed", "succeed"})
"""Words that look like participles and are not."""

SHARED_NAMES: Final = {
    "Settings": "the settings of one service, in its module `settings`",
}
"""Names that several public classes have, with the meaning that they share."""


def is_bare_participle(name: str) -> bool:
    word = name.strip("_")
    return word not in VERBS and (word in IRREGULAR or re.fullmatch(r"[a-z]{2,}ed", word) is not None)


@cache
def sources() -> dict[Path, str]:
    """Return the text of every module of the project."""
    paths = [path for place in PLACES for path in (ROOT / place).rglob("*.py")]
    inside = [path for path in paths if not {".venv", "target", "__pycache__", ".cache"} & set(path.relative_to(ROOT).parts)]
    return {path: path.read_text("utf-8") for path in inside}


def has_bare_participle(source: str) -> bool:
    """Return whether a line looks like a function of the module named so: only such modules are worth parsing."""
    return any(map(is_bare_participle, FUNCTION.findall(source)))


def is_value(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function is read as a value: a fixture, which tests take by its name."""
    return any("fixture" in ast.unparse(each) for each in function.decorator_list)


def test_a_module_function_is_a_verb() -> None:
    participles = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path, source in sources().items()
        if has_bare_participle(source)
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_bare_participle(node.name) and not is_value(node)
    ]
    assert participles == []


def test_a_participle_is_recognised() -> None:
    names = ("merged", "_told", "written", "feed", "read", "merge_all")
    assert [name for name in names if is_bare_participle(name)] == ["merged", "_told", "written"]
    assert has_bare_participle("import x\n\nasync def merged() -> None: ...\n")
    assert not has_bare_participle("class A:\n    def merged(self) -> None: ...\n")


def module_of(path: Path) -> str | None:
    """Return the dotted name of a module of a package; None for tests and scripts."""
    found = re.search(r"/(?:src|python)/(graphtide\w*(?:/\w+)*)\.py$", path.as_posix())
    return found and found[1].replace("/", ".").removesuffix(".__init__")


def imports(tree: ast.Module, own: str) -> Iterator[tuple[str, str]]:
    """Yield the names that the module `own` takes from other packages of the project, as module and name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and is_of_another_package(node.module or "", own):
            yield from ((node.module or "", alias.name) for alias in node.names)


def is_of_another_package(module: str, own: str) -> bool:
    return module.startswith("graphtide") and module.partition(".")[0] != own.partition(".")[0]


@cache
def several_meanings() -> dict[str, list[str]]:
    """Return names of classes that several modules define, if they meet: in one package, or as imports of other packages."""
    defined: defaultdict[str, list[str]] = defaultdict(list)
    imported: defaultdict[str, set[str]] = defaultdict(set)
    for path, source in sources().items():
        if own := module_of(path):
            tree = ast.parse(source)
            for module, name in imports(tree, own):
                imported[name].add(module)
            classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
            for name in classes:
                defined[name].append(own)
    found = {}
    for name, modules in defined.items():
        packages = Counter(module.partition(".")[0] for module in modules)
        abroad = [each for each in modules if any(each == one or each.startswith(f"{one}.") for one in imported[name])]
        # The form of a thing in an HTTP body has the name of the thing.
        meet = [each for each in abroad if not each.startswith("graphtide_wire.bodies.")]
        if max(packages.values()) > 1 or len(meet) > 1:
            found[name] = sorted(modules)
    return found


def test_a_public_class_has_one_meaning_a_name() -> None:
    assert {name: modules for name, modules in several_meanings().items() if name not in SHARED_NAMES} == {}


def test_names_that_are_shared_are_shared() -> None:
    assert set(SHARED_NAMES) <= set(several_meanings())
