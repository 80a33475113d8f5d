"""Every path and module that a page names exists.

Pages are all Markdown files of the repository. Names are paths that begin with a folder of the root, relative paths and file
names in backticks, and dotted names of our packages. A path may have `*`, and `{name}` or `<name>` for any one part.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
FOLDERS: Final = (".ci", "charts", "docs", "e2e_tests", "k8s", "packaging", "services", "shared")
LEFT_OUT: Final = {"CHANGELOG.md": ("graphtide_wire.plan_forms",)}
"""By page: what it names because it is gone."""

_BUILT: Final = {"target", "node_modules", "__pycache__", "build", "dist"}
_FROM_ROOT: Final = re.compile(rf"(?<![\w/.-])((?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*{{}}<>-]*[\w*}}>])")
_RELATIVE: Final = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|rs|lark|tpl|toml))`")
_DOTTED: Final = re.compile(r"(?<![\w.])(graphtide_\w+(?:\.[A-Za-z_]\w*)+)")


@cache
def sources() -> frozenset[str]:
    """Return the files of the repository, from its root on, without what is built, installed or hidden."""
    found: set[str] = set()
    for folder in FOLDERS:
        for place, inner, names in os.walk(ROOT / folder):
            inner[:] = [each for each in inner if each not in _BUILT and not each.startswith(".")]
            found.update(Path(place, name).relative_to(ROOT).as_posix() for name in names)
    return frozenset(found | {each.name for each in ROOT.iterdir() if each.is_file()})


@cache
def text_of(file: str) -> str:
    return (ROOT / file).read_text("utf-8")


def pages() -> list[str]:
    return sorted(each for each in sources() if each.endswith(".md"))


def is_path(named: str) -> bool:
    """Return whether a path from the root on is a file or folder, or a glob of some."""
    glob = re.sub(r"\{[^}]*\}|<[^>]*>", "*", named)
    return next(ROOT.glob(glob), None) is not None


def is_relative(named: str) -> bool:
    """Return whether a path is the end of the path of some file."""
    return any(each == named or each.endswith(f"/{named}") for each in sources())


def is_module(named: str) -> bool:
    """Return whether a dotted name is a module of ours, or something that one names."""
    parts = named.split(".")
    for count in range(len(parts), 0, -1):
        path = "/".join(parts[:count])
        modules = [each for each in sources() if each.endswith((f"/{path}.py", f"/{path}.pyi", f"/{path}/__init__.py"))]
        if modules:
            return count == len(parts) or any(re.search(rf"\b{parts[count]}\b", text_of(each)) for each in modules)
    return False


def missing(text: str) -> list[str]:
    """Return what a text names and the repository does not have."""
    kinds = ((_FROM_ROOT, is_path), (_RELATIVE, is_relative), (_DOTTED, is_module))
    return list(dict.fromkeys(named for pattern, exists in kinds for named in pattern.findall(text) if not exists(named)))


def test_what_pages_name_is_there() -> None:
    assert len(pages()) > 50
    found = {page: [each for each in missing(text_of(page)) if each not in LEFT_OUT.get(page, ())] for page in pages()}
    assert {page: named for page, named in found.items() if named} == {}


def test_what_is_left_out_is_named_and_missing() -> None:
    for page, named in LEFT_OUT.items():
        assert set(named) <= set(missing(text_of(page)))


def test_names_of_what_is_not_there_are_found() -> None:
    text = """
        `shared/nowhere/file.py` and docs/adr/9999-none.md, [one](docs/none.md), `shared/*/nowhere/*.py`,
        `services/{name}/nowhere`; `search/growth.py`, `no_such_file.rs`;
        `graphtide_core.nowhere`, `graphtide_nowhere.log`, `graphtide_core.match.nothing_of_it`.
    """
    assert missing(text) == [
        "shared/nowhere/file.py",
        "docs/adr/9999-none.md",
        "docs/none.md",
        "shared/*/nowhere/*.py",
        "services/{name}/nowhere",
        "search/growth.py",
        "no_such_file.rs",
        "graphtide_core.nowhere",
        "graphtide_nowhere.log",
        "graphtide_core.match.nothing_of_it",
    ]


def test_names_of_what_is_there_pass() -> None:
    text = """
        `shared/core/src/graphtide_core/match.py`, docs/adr, [one](docs/style.md), `services/matcher_*`, `services/{name}/src`;
        `isomorphism/growth.py`, `growth.py`; `graphtide_core.match`, `graphtide_core.match.match_id`;
        https://example.org/docs/none.md, ../shared/data/none.csv, `graphtide_core`.
    """
    assert missing(text) == []
