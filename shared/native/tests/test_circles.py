"""The files of a crate import each other in one direction: what is read first can be understood without what comes after."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Module = tuple[str, ...]

CRATES: Final = Path(__file__).parents[1] / "crates"

CLOSED: Final[Mapping[str, set[frozenset[str]]]] = {
    "graphtide-algebra": {frozenset({"join", "operator", "path", "path::delta_tree"})},
    "graphtide-engine": {
        # What is computed reads leaves of expressions, and is a part of one.
        frozenset({"computed", "expression"}),
        frozenset({"dispatch", "dispatch::constants"}),
        frozenset({"trace", "trace::partials"}),
        frozenset(
            {
                "meter",
                "output",
                "output::component",
                "output::interval",
                "output::names",
                "output::occurrence",
                "output::result_edges",
                "output::returned",
                "output::rows",
                "output::valid",
            }
        ),
    },
    # The arguments of a function are expressions.
    "graphtide-expression": {frozenset({"expression", "functions"})},
    "graphtide-graph": {frozenset({"store", "store::out_of_order"})},
    "graphtide-isomorphism": {frozenset({"sj_tree", "sj_tree::run"}), frozenset({"timing", "timing::run"})},
    "graphtide-simulation": {frozenset({"nearby", "question"})},
}
"""Circles that there still are; one that is opened leaves this list."""


@pytest.mark.parametrize("crate", sorted(path.name for path in CRATES.iterdir()))
def test_files_of_a_crate_import_in_one_direction(crate: str) -> None:
    assert circles(CRATES / crate / "src") == CLOSED.get(crate, set())


def test_a_circle_is_seen_through_lists_parents_and_paths(tmp_path: Path) -> None:
    sources = {
        "lib.rs": "mod a;\nmod b;\nmod c;\nmod d;\n",
        "a.rs": "use crate::{b::{B, other}, d};\n// use crate::c;\n",
        "b.rs": "mod inner;\nfn f() { crate::c::g() }\n#[cfg(test)]\nmod tests {\n    use crate::d::D;\n}\n",
        "b/inner.rs": "use super::super::d::D;\n",
        "c.rs": "use super::a::A;\n",
        "d.rs": "",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert circles(tmp_path) == {frozenset({"a", "b", "c"})}


def circles(source: Path) -> set[frozenset[str]]:
    """Return the files of a crate that import each other, the file of the crate itself called `lib`."""
    files = {_module(path.relative_to(source)): path for path in source.rglob("*.rs")}
    imports = {module: set(_imports(module, path.read_text(), files)) for module, path in files.items()}
    reached = {module: _find_reachable(module, imports) for module in files}
    found = {frozenset(other for other in reached[module] if module in reached[other]) for module in files}
    return {frozenset("::".join(each) or "lib" for each in circle) for circle in found if len(circle) > 1}


def _module(path: Path) -> Module:
    parts = path.with_suffix("").parts
    return parts[:-1] if parts[-1] in {"mod", "lib"} else parts


def _find_reachable(module: Module, imports: Mapping[Module, set[Module]]) -> set[Module]:
    reached: set[Module] = set()
    waiting = [module]
    while waiting:
        new = imports[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached


def _imports(module: Module, text: str, files: Mapping[Module, Path]) -> Iterator[Module]:
    """Yield the files that a file names, but itself; its tests are left out."""
    code = re.sub(r"//.*", "", text).partition("#[cfg(test)]\nmod tests")[0]
    used = [path for tree in re.findall(r"\buse\s+([^;]+);", code) for path in _paths(re.sub(r"\s+as\s+\w+|\s", "", tree))]
    for path in [*used, *re.findall(r"\b(?:crate|super)(?:::\w+)+", code)]:
        first, *rest = path.split("::")
        base = list(module)
        if first == "crate":
            base = []
        elif first == "super":
            base.pop()
            while rest and rest[0] == "super":
                base.pop()
                rest.pop(0)
        elif (*module, first) in files:
            rest.insert(0, first)
        else:
            continue
        named = (*base, *rest)
        known = next(named[:length] for length in range(len(named), -1, -1) if named[:length] in files)
        if known != module:
            yield known


def _paths(tree: str) -> Iterator[str]:
    """Yield the paths of a tree of them, as in `a::{b, c::{d, e}}`."""
    head, brace, body = tree.partition("{")
    if not brace:
        yield tree
        return
    depth, part = 0, ""
    for letter in body:
        depth += (letter == "{") - (letter == "}")
        if depth < 0 or (letter == "," and depth == 0):
            if part:
                yield from _paths(head + part)
            part = ""
            if depth < 0:
                return
        else:
            part += letter
