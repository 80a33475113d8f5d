"""The event pattern of the README gives one alert for each run of failures, and none for failures that a success parts."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import graphtide
import pytest
from graphtide_core.match import OccurrenceMatch
from graphtide_testing.documents.blocks import blocks_of

README: Final = Path(__file__).parents[2] / "README.md"
TYPES: Final = {"f": "failed", "s": "success"}


def matched(logins: str) -> list[dict[str, object]]:
    """Return the events of each match. Logins are one second apart; their ids are their positions."""
    (pattern,) = (block.text for block in blocks_of(README) if block.text.startswith("PATTERN guessed\n"))
    records = [{"ts": at * 1000, "type": TYPES[each], "id": str(at), "user": "ann"} for at, each in enumerate(logins, start=1)]
    return [dict(found.events) for found in graphtide.match(pattern, records) if isinstance(found, OccurrenceMatch)]


@pytest.mark.parametrize(
    ("logins", "matches"),
    [
        ("fffs", [{"f": ("1", "2", "3"), "s": "4"}]),
        ("ffsfs", []),
        ("fffsfffs", [{"f": ("1", "2", "3"), "s": "4"}, {"f": ("5", "6", "7"), "s": "8"}]),
        ("fffss", [{"f": ("1", "2", "3"), "s": "4"}]),
    ],
)
def test_each_run_of_three_failures_before_a_success_is_one_match(logins: str, matches: list[dict[str, object]]) -> None:
    assert matched(logins) == matches


def test_a_longer_run_is_one_match() -> None:
    (match,) = matched("ffffffs")
    assert match["s"] == "7"
