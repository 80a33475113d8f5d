"""The glossary lists words in order, each once and with one meaning, and no former term."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

GLOSSARY: Final = Path(__file__).parents[2] / "docs/glossary.md"
FORMER: Final = {"reach", "simulate", "turn", "room", "grant"}
"""Words that were terms here and are plain words now; those that have no other use are in `test_words.py`."""


def entries() -> list[tuple[str, str]]:
    """Return each word with its meaning, in the order of the page."""
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", GLOSSARY.read_text("utf-8"), re.MULTILINE)
    assert rows[0] == ("word", "meaning")
    return rows[1:]


def words() -> list[str]:
    """Return every word; an entry may have several for one pair of things."""
    return [word.lower() for entry, _ in entries() for word in entry.split(", ")]


def test_words_are_in_order_and_each_has_one_entry() -> None:
    firsts = [entry.lower() for entry, _ in entries()]
    assert len(firsts) > 100
    assert firsts == sorted(firsts)
    assert sorted(words()) == sorted(set(words()))


def test_a_word_has_one_meaning() -> None:
    """Qualified entries (`unit, of time`) and lists of meanings (`in a plan …; of time …`) are how a word gets a second one."""
    qualified = [entry for entry, _ in entries() if re.search(r", (?:of|in|for) ", entry)]
    several = [entry for entry, meaning in entries() if re.search(r"; (?:of|in|for) (?:a|an|the|time)\b", meaning)]
    assert (qualified, several) == ([], [])


def test_words_that_gave_way_are_gone() -> None:
    assert FORMER.isdisjoint(words())
