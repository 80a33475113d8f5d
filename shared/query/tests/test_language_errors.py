"""Every file of fixtures/errors is refused with exactly the text beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import graphtide_query
from graphtide_testing.hostile_texts import check_written_errors

if TYPE_CHECKING:
    import pytest

ERRORS = sorted((Path(__file__).parent / "fixtures" / "errors").glob("*.gtp"))


def test_errors_say_where_and_what_to_do(subtests: pytest.Subtests) -> None:
    check_written_errors(ERRORS, graphtide_query.parse, subtests)
