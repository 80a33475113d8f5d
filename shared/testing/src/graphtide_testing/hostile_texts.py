"""Texts that are nearly of a language, and what must hold whatever they are: read, or refused with a place and a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from graphtide_core.errors import InvalidPatternError
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hypothesis.strategies import SearchStrategy

PROFILE: Final = settings.get_profile(settings.get_current_profile_name())
"""The settings of this run of the tests."""

fuzzed: Final = settings(
    max_examples=max(300, PROFILE.max_examples),
    deadline=None,
    derandomize=PROFILE.derandomize,
    suppress_health_check=[HealthCheck.too_slow],
)
"""Settings of a test over such texts."""

ANY_TEXTS: Final = st.text(st.characters())
"""Texts of any characters."""


def join_tokens(tokens: Sequence[str]) -> SearchStrategy[str]:
    """Return texts of these words and signs, with or without spaces between them."""
    return st.builds(str.join, st.sampled_from(["", " "]), st.lists(st.sampled_from(tokens)))


def some_tokens(tokens: Sequence[str], most: int = 30) -> SearchStrategy[str]:
    """Return texts of at most so many of these words and signs."""
    return st.lists(st.sampled_from(tokens), max_size=most).map(" ".join)


def change_texts(valid: Sequence[str], tokens: Sequence[str]) -> SearchStrategy[str]:
    """Return valid texts in which a few characters are replaced by a word, a sign or other characters."""
    insertions = st.sampled_from(tokens) | st.text(st.characters(), max_size=3)
    edits = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 6), insertions), max_size=4)
    return st.builds(_edit, st.sampled_from(valid), edits)


def _edit(text: str, edits: list[tuple[float, int, str]]) -> str:
    for place, length, insertion in edits:
        start = int(place * len(text))
        text = text[:start] + insertion + text[start + length :]
    return text


def check_refusal(text: str, error: InvalidPatternError | None) -> None:
    """Check that the error of a text, if there is one, can be shown and is at a place of the text."""
    if error is not None:
        assert str(error).encode()
        assert error.location is not None
        assert error.location.line <= text.count("\n") + 1


def check_written_errors(files: Sequence[Path], parse: Callable[[str], object], subtests: pytest.Subtests) -> None:
    """Check that each file is refused for the reason in its first line, with exactly the text in the file beside it."""
    for path in files:
        with subtests.test(path.stem):
            text = path.read_bytes().decode()
            header, _, _ = text.partition("\n")
            with pytest.raises(InvalidPatternError) as caught:
                parse(text)
            assert header.removeprefix("# fails: ") in caught.value.reason
            assert caught.value.location is not None
            assert str(caught.value) + "\n" == path.with_suffix(".txt").read_text(encoding="utf-8")
    assert {path.stem for path in files} == {path.stem for path in files[0].parent.glob("*.txt")}
