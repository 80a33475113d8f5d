r"""Portable regular expressions as Python must read them: `$` is the end alone, and `\B` also holds in an empty text.

In Python `$` is before a last line feed, too, and until 3.14 an empty text has no `\B`.
"""

from __future__ import annotations

import re
from typing import Final

_PART: Final = re.compile(
    r"(?P<escape>\\.)|(?P<members>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<flags>\(\?(?P<set>[ims]+)\))|(?P<scoped>\(\?(?P<own>[ims]*):)"
    r"|(?P<open>\()|(?P<close>\))|(?P<end>\$)|(?P<other>.)",
    re.DOTALL,
)
_NOT_AT_WORD: Final = r"(?:(?<=\w)(?=\w)|(?<!\w)(?!\w))"


def end_exactly(pattern: str) -> str:
    r"""Return an expression for `re` with `re.ASCII`: each `$` outside of `(?m)` is `\Z`, each `\B` is written out."""
    written, by_line = [], [False]
    for found in _PART.finditer(pattern):
        text = found.group()
        match found.lastgroup:
            case "escape":
                text = _NOT_AT_WORD if text == r"\B" else text
            case "end":
                text = text if by_line[-1] else r"\Z"
            case "set" | "flags":
                by_line[-1] |= "m" in found["set"]
            case "own" | "scoped":
                by_line.append(by_line[-1] or "m" in found["own"])
            case "open":
                by_line.append(by_line[-1])
            case "close" if len(by_line) > 1:
                by_line.pop()
        written.append(text)
    return "".join(written)
