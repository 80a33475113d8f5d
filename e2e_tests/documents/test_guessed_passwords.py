"""The recipe for guessed passwords gives one alert for each run of failures, and none for failures that a success parts."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import graphtide
import pytest
from graphtide_core.match import OccurrenceMatch
from graphtide_testing.documents.blocks import blocks_of

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = ("README.md", "docs/how-to/event-patterns.md")
TYPES: Final = {"f": "failed", "s": "success"}


def matched(page: str, logins: str, folder: Path) -> list[dict[str, object]]:
    """Return the events of each match. Logins are one second apart; their ids are their positions."""
    (pattern,) = (block.text for block in blocks_of(ROOT / page) if block.text.startswith("PATTERN guessed\n"))
    rows = (f"{at}000,{TYPES[each]},{at},ann,10.0.0.7" for at, each in enumerate(logins, start=1))
    stream = folder / "logins.csv"
    stream.write_text("\n".join(["ts,type,id,user,address", *rows, ""]))
    return [dict(found.events) for found in graphtide.match(pattern, stream) if isinstance(found, OccurrenceMatch)]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    ("logins", "matches"),
    [
        ("fffs", [{"f": ("1", "2", "3"), "s": "4"}]),
        ("fffffs", [{"f": ("1", "2", "3", "4", "5"), "s": "6"}]),
        ("ffsfs", []),
        ("fffsfffs", [{"f": ("1", "2", "3"), "s": "4"}, {"f": ("5", "6", "7"), "s": "8"}]),
        ("fffss", [{"f": ("1", "2", "3"), "s": "4"}]),
    ],
)
def test_each_run_of_three_failures_before_a_success_is_one_match(
    page: str, logins: str, matches: list[dict[str, object]], tmp_path: Path
) -> None:
    assert matched(page, logins, tmp_path) == matches
