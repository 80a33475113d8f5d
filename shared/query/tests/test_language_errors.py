"""Every file of fixtures/errors is refused with exactly the text beside it."""

from __future__ import annotations

from pathlib import Path

import graphtide_query
import pytest
from graphtide_core.errors import InvalidPatternError

ERRORS = sorted((Path(__file__).parent / "fixtures" / "errors").glob("*.gtp"))


def test_errors_say_where_and_what_to_do(subtests: pytest.Subtests) -> None:
    for path in ERRORS:
        with subtests.test(path.stem):
            text = path.read_bytes().decode()
            header, _, _ = text.partition("\n")
            with pytest.raises(InvalidPatternError) as caught:
                graphtide_query.parse(text)
            assert header.removeprefix("# fails: ") in caught.value.reason
            assert caught.value.location is not None
            assert str(caught.value) + "\n" == path.with_suffix(".txt").read_text(encoding="utf-8")


def test_every_rendering_has_its_pattern() -> None:
    assert {path.stem for path in ERRORS} == {path.stem for path in ERRORS[0].parent.glob("*.txt")}
