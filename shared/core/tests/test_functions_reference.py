"""The reference of functions over records says of each what `FUNCTIONS` says, in its order."""

from __future__ import annotations

from pathlib import Path

from graphtide_core.functions import FUNCTIONS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "record-expressions.md"


def test_the_table_of_functions_is_that_of_the_language() -> None:
    rows = [f"| `{function.usage}` | {function.meaning} |\n" for function in FUNCTIONS.values()]
    assert "".join(rows) in PAGE.read_text(encoding="utf-8")
