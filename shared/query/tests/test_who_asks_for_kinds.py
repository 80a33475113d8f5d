"""Code outside of the families asks a pattern's family, and does not look at the class of a pattern or a plan."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[3]

KINDS: Final = {
    "SubgraphPattern",
    "EventPattern",
    "GraphQuery",
    "Plan",
    "EventPlan",
    "GraphPlan",
    "GroupedPlan",
    "DerivedPlan",
    "Grouping",
    "Derivation",
}
"""Classes of patterns, of plans, and of what is sent of plans."""

ALLOWED: Final = {
    "services/graphtide/src/graphtide/event_questions.py": 1,
    "services/graphtide/src/graphtide/event_watch.py": 1,
    "shared/core/src/graphtide_core/any_pattern.py": 3,
    "shared/query/src/graphtide_query/language/binder.py": 1,
    "shared/query/src/graphtide_query/views.py": 1,
}
"""How often a file looks at a kind; each says beside it why. Fewer is better: a file that needs no more leaves the list."""

NOT_ASKED: Final = ("shared/testing/", "shared/bench/", "shared/query/src/graphtide_query/families/")
"""Oracles and benchmarks are of one family each."""


def looks(text: str) -> int:
    """Return how often a text asks whether something is of one of the kinds, by `isinstance` or by a case."""
    found = 0
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name("isinstance"), args=[_, kinds]):
                found += any(isinstance(each, ast.Name) and each.id in KINDS for each in ast.walk(kinds))
            case ast.MatchClass(cls=ast.Name(kind)):
                found += kind in KINDS
            case _:
                pass
    return found


def files() -> Iterator[Path]:
    for folder in ("services/*/src", "shared/*/src", "shared/*/python"):
        for place in ROOT.glob(folder):
            yield from place.rglob("*.py")


def test_a_look_at_a_kind_is_found_however_it_is_written() -> None:
    text = """
isinstance(a, Plan)
isinstance(
    f(a), (int, EventPattern)
)
isinstance(a, int | GraphQuery)
isinstance(a, int)
match a:
    case Plan():
        pass
    case Seq():
        pass
"""
    assert looks(text) == 4


def test_no_file_outside_of_the_families_looks_at_a_kind_without_need() -> None:
    found = Counter[str]()
    for file in files():
        name = file.relative_to(ROOT).as_posix()
        if not name.startswith(NOT_ASKED):
            found[name] = looks(file.read_text("utf-8"))
    new = {name: count for name, count in found.items() if count > ALLOWED.get(name, 0)}
    assert not new, f"these files look at the class of a pattern or a plan; ask its family, `family_of(pattern)`: {new}"
    assert +found == ALLOWED, "a file looks at fewer kinds than it is allowed to: let the list say so"
