"""The recipe *three failures, then a success* of every page: a success in between ends a run of failures."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import graphtide
import pytest
from graphtide_testing.documents.blocks import blocks_of

ROOT: Final = Path(__file__).parents[2]
RECIPES: Final = [("docs/how-to/event-patterns.md", "guessed"), ("docs/reference/event-patterns.md", "guessed")]


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


def found(page: str, name: str, outcomes: str) -> list[dict[str, object]]:
    """Return the events of each match of a recipe."""
    text = recipe(page, name)
    records = logins(outcomes)
    if ":login" in text:
        records = [record | {"type": "login"} for record in records]
    matches = list(graphtide.match(text, records))
    assert all(isinstance(match, graphtide.OccurrenceMatch) for match in matches)
    return [dict(match.events) for match in matches if isinstance(match, graphtide.OccurrenceMatch)]


@pytest.mark.parametrize(("page", "name"), RECIPES)
def test_a_success_among_the_failures_is_no_match(page: str, name: str) -> None:
    assert found(page, name, "f f s f s") == []


@pytest.mark.parametrize(("page", "name"), RECIPES)
def test_two_runs_of_failures_are_two_matches(page: str, name: str) -> None:
    assert found(page, name, "f f f s f f f s") == [
        {"f": ("f1", "f2", "f3"), "s": "s4"},
        {"f": ("f5", "f6", "f7"), "s": "s8"},
    ]


@pytest.mark.parametrize(("page", "name"), RECIPES)
def test_a_longer_run_is_one_match(page: str, name: str) -> None:
    (events,) = found(page, name, "f f f f f s s")
    assert events["s"] == "s6"


def test_once_an_hour_has_all_failures_of_the_first_run() -> None:
    assert found("docs/how-to/event-patterns.md", "guessed_once", "f f s f f f f s f f f s") == [
        {"f": ("f4", "f5", "f6", "f7"), "s": "s8"}
    ]
