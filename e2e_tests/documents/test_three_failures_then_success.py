"""The recipe *three failures, then a success* of every page: a success in between ends a run of failures."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import graphtide
import pytest
from graphtide_testing.documents.blocks import blocks_of

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAME: Final = "guessed"
RECIPES: Final = ["README.md", "docs/how-to/event-patterns.md", "docs/reference/event-patterns.md"]


def recipe(page: str, name: str) -> str:
    """Return the text of a pattern as its page has it."""
    (text,) = (block.text for block in blocks_of(ROOT / page) if block.text.startswith(f"PATTERN {name}\n"))
    return text


def logins(outcomes: str) -> list[dict[str, object]]:
    """Return failures (f) and successes (s) of one user, a second apart, as both the pages' streams write them."""
    return [
        {"ts": 1000 * at, "id": f"{outcome}{at}", "user": "ann", "address": "10.0.0.7", **kind}
        for at, outcome in enumerate(outcomes.split(), start=1)
        for kind in [{"type": "failed" if outcome == "f" else "success", "ok": outcome == "s"}]
    ]


def find(page: str, name: str, outcomes: str) -> list[dict[str, object]]:
    """Return the events of each match of a recipe."""
    text = recipe(page, name)
    records = logins(outcomes)
    if ":login" in text:
        records = [record | {"type": "login"} for record in records]
    matches = list(graphtide.match(text, records))
    assert all(isinstance(match, graphtide.OccurrenceMatch) for match in matches)
    return [dict(match.events) for match in matches if isinstance(match, graphtide.OccurrenceMatch)]


def test_every_page_with_the_recipe_is_tried() -> None:
    pages = [page for page in PAGES if any(block.text.startswith(f"PATTERN {NAME}\n") for block in blocks_of(page))]
    assert [str(page.relative_to(ROOT)) for page in pages] == RECIPES


@pytest.mark.parametrize("page", RECIPES)
def test_a_success_among_the_failures_is_no_match(page: str) -> None:
    assert find(page, NAME, "f f s f s") == []


@pytest.mark.parametrize("page", RECIPES)
def test_two_runs_of_failures_are_two_matches(page: str) -> None:
    assert find(page, NAME, "f f f s f f f s") == [
        {"f": ("f1", "f2", "f3"), "s": "s4"},
        {"f": ("f5", "f6", "f7"), "s": "s8"},
    ]


@pytest.mark.parametrize("page", RECIPES)
def test_a_longer_run_is_one_match(page: str) -> None:
    (events,) = find(page, NAME, "f f f f f s s")
    assert events["s"] == "s6"


def test_once_an_hour_has_all_failures_of_the_first_run() -> None:
    assert find("docs/how-to/event-patterns.md", "guessed_once", "f f s f f f f s f f f s") == [
        {"f": ("f4", "f5", "f6", "f7"), "s": "s8"}
    ]
