"""The editor colours and completes exactly the words of the language."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from graphtide_query import parse

ROOT: Final = Path(__file__).parents[2]
GRAMMARS: Final = ROOT / "shared/query/src/graphtide_query/language"


def read_grammar(name: str) -> set[str]:
    """Return the words of a grammar."""
    return {
        word.upper() for word in re.findall(r"^_?[A-Z]+\.\d: /([a-z]+)\\b", (GRAMMARS / name).read_text("utf-8"), re.MULTILINE)
    }


def read_list(name: str) -> set[str]:
    """Return the words of a list of the editor."""
    text = (ROOT / "services/console/src/language/words.ts").read_text("utf-8")
    found = re.search(rf"{name} = \[(.*?)\];", text, re.DOTALL)
    assert found is not None
    return set(re.findall(r'"([A-Z]+)"', found[1]))


def test_the_editor_knows_the_words_of_the_grammar() -> None:
    assert {"MATCH", "ORDER", "WINDOW"} <= read_grammar("grammar.lark")
    assert read_list("PATTERN_WORDS") == read_grammar("grammar.lark")
    assert read_list("STREAM_WORDS") == read_grammar("streams.lark")


def test_recipes_are_patterns() -> None:
    recipes = (ROOT / "services/console/src/recipes.ts").read_text("utf-8")
    texts = re.findall(r"text: `(.*?)`", recipes, re.DOTALL)
    assert len(texts) == recipes.count("text:") - 1 > 3  # one is the type's
    assert [len(parse(each)) for each in texts] == [1] * len(texts)
