"""What a block shows compared with what came.

Times that runs take and speeds differ from run to run and are masked: `0.12 s`, `2,493,864 flows/s`. A line `…` of what is
shown stands for any lines, and so does `…` for any value in JSON. All else is equal, but for spaces at the ends of lines.
"""

from __future__ import annotations

import difflib
import re
from typing import Final

ANY: Final = "…"

_MASKS: Final = (
    (re.compile(r"\b\d+\.\d+ s\b"), "0.00 s"),
    (re.compile(r"\b\d[\d,]*(?:\.\d+)? (\w+)/s\b"), r"0 \1/s"),
)


def mask(text: str) -> str:
    """Return the text with numbers that differ from run to run made equal, without spaces at the ends of lines."""
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def is_shown(shown: str, came: str) -> bool:
    """Return whether what came is what is shown."""
    lines = ("(?:.*\n)*?" if line == ANY else re.escape(line) + "\n" for line in mask(shown).splitlines())
    return re.fullmatch("".join(lines), mask(came) + "\n" if came.strip() else "") is not None


def difference(shown: str, came: str) -> str:
    """Return both as lines that differ, for people."""
    return "\n".join(difflib.unified_diff(mask(shown).splitlines(), mask(came).splitlines(), "shown", "came", lineterm=""))


def is_shown_json(shown: object, came: object) -> bool:
    """Return whether a JSON value is what is shown; a member `…` stands for all members that are not shown."""
    match shown, came:
        case "…", _:
            return True
        case dict(), dict():
            named = {key for key in shown if key != ANY}
            same = named <= came.keys() if ANY in shown else named == came.keys()
            return same and all(is_shown_json(shown[key], came[key]) for key in named)
        case list(), list():
            return len(shown) == len(came) and all(map(is_shown_json, shown, came))
        case _:
            return type(shown) is type(came) and shown == came
