"""The recipe for an event operator names every file that knows operators."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

import pytest
from graphtide_core.event_expression import OPERATORS, QueryEvent, Seq, Visitor, walk

ROOT: Final = Path(__file__).parents[3]
RECIPE: Final = "Adding an event operator"
MAKERS: Final = {
    "services/graphtide/src/graphtide/event_questions.py": "asks whether a question names events of two branches",
    "services/graphtide/src/graphtide/event_watch.py": "makes a pattern of one event",
    "shared/query/src/graphtide_query/language/event_binder.py": "writes NOT OR(…) as one NOT",
    "shared/bench/src/graphtide_bench/events/plans.py": "reads the published workloads, which have AND and SEQ",
    "shared/testing/src/graphtide_testing/event_workloads.py": "draws workloads of the operators there are",
    "shared/testing/src/graphtide_testing/oracles/events.py": "defines timeouts, which SEQ alone has",
}
"""Files that use an operator and need not know all of them, and why."""


def recipe() -> str:
    _, _, after = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition(f"## {RECIPE}\n")
    return after.partition("\n## ")[0]


def names_operators(file: Path) -> bool:
    """Whether a file imports the class of an operator."""
    classes, text = {each.__name__ for each in OPERATORS.values()}, file.read_text("utf-8")
    if "graphtide_core.event_expression" not in text:
        return False
    imports = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom))
    return any(
        node.module == "graphtide_core.event_expression" and not classes.isdisjoint(each.name for each in node.names)
        for node in imports
    )


def test_it_names_each_file_that_knows_operators() -> None:
    listed = set(re.findall(r"`((?:services|shared)/[^`]+\.py)`", recipe()))
    found = {
        file.relative_to(ROOT).as_posix()
        for folder in ("services/*/src", "shared/*/src")
        for place in ROOT.glob(folder)
        for file in place.rglob("*.py")
        if names_operators(file)
    }
    assert found - listed == MAKERS.keys()
    assert {each for each in listed - found if "/tests/" not in each} == {
        "shared/core/src/graphtide_core/event_expression.py",
        "shared/core/src/graphtide_core/plans/events.py",
        "shared/query/src/graphtide_query/language/spelling.py",
        "shared/query/src/graphtide_query/language/diagnostics.py",
    }, "these define operators, or know their words alone"


@pytest.mark.parametrize("word", OPERATORS)
def test_the_words_stand_where_the_language_is_defined(word: str) -> None:
    for file in ("grammar.lark", "spelling.py", "diagnostics.py"):
        assert word in (ROOT / "shared/query/src/graphtide_query/language" / file).read_text("utf-8")


def test_a_visitor_that_lacks_an_answer_cannot_be_made() -> None:
    class Forgetful(Visitor[int]):
        def event(self, _event: QueryEvent, /) -> int:
            return 1

    with pytest.raises(TypeError, match="abstract"):
        Forgetful()  # type: ignore[abstract]


def test_a_walk_goes_in_the_order_of_the_text() -> None:
    a, b, c = (QueryEvent(name, name.upper()) for name in "abc")
    inner = Seq((b, c))
    assert list(walk(Seq((a, inner)))) == [Seq((a, inner)), a, inner, b, c]
