"""Quote words in messages, and suggest the known word that an unknown word may mean.

Cost of a suggestion: quadratic in the lengths of the words, for each known one; words past 100 characters are left out.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_CHARACTERS: Final = 100
_SHOWN: Final = 60


def show(name: str) -> str:
    """Quote a name for a message: one line, cut where it is long."""
    return repr(name if len(name) <= _SHOWN else name[:_SHOWN] + "…")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `did you mean …?` for the known word closest to `word`, or an empty string where none is close."""
    candidates = {each.lower(): each for each in known if len(each) <= _MOST_CHARACTERS}
    close = difflib.get_close_matches(word[:_MOST_CHARACTERS].lower(), candidates, n=1)
    return f"did you mean {candidates[close[0]]}?" if close else ""
