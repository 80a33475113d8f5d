r"""Regular expressions that Python's `re` and Rust's linear-time `regex` read alike: the subset that streams may use.

Engines match them in Rust and the oracle in Python, so what only one of them has is refused: lookaround, backreferences, atomic
groups, possessive repetitions, operations on classes, and escapes such as `\Z` and `\p{…}`. Cost: linear in the text.
"""

from __future__ import annotations

import re
from typing import Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.suggestion import show

LONGEST_REGEX: Final = 1_000
"""Characters of a regular expression."""

MOST_REPEATED: Final = 255
"""The largest number in `{…}`."""

MOST_OPEN: Final = 50
"""Groups inside each other."""

_HINT: Final = "use what a search in linear time has: groups, classes, alternatives, * + ? {1,3}, ^ $ and (?i)"
_ESCAPE: Final = re.compile(r"\\(?:[dDwWsSbBAnrtfv]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[!-/:;=?@\[-`{-~])")
_OF_CLASSES: Final = re.compile(r"\\[bBA]")
"""Escapes that mean something else, or nothing, in a class."""
_GROUP: Final = re.compile(r"\((?:\?(?:P<[A-Za-z_][A-Za-z0-9_]*>|:|[ims]+\)|[ims]+:))?")
_REPEAT: Final = re.compile(r"(?:[*+?]|\{([0-9]{1,4})(?:,([0-9]{0,4}))?\})\??")
_REPEATED_AGAIN: Final = re.compile(r"[*+?{]")


def check_regex(pattern: str) -> None:
    """Check a regular expression.

    Raises:
        InvalidPatternError: it is too long, not a regular expression, or has what only some libraries have.
    """
    if len(pattern) > LONGEST_REGEX:
        message = f"the regular expression has more than {LONGEST_REGEX:,} characters"
        raise InvalidPatternError(message, hint="split it, or match a shorter part")
    _refuse_foreign_parts(pattern)
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        message = f"the regular expression {show(pattern)} cannot be read: {error}"
        raise InvalidPatternError(message, hint=_HINT) from None


def group_names(pattern: str) -> tuple[str, ...]:
    """Return the names of the groups of a regular expression that passed `check_regex`, in its order."""
    return tuple(re.compile(pattern).groupindex)


def count_groups(pattern: str) -> int:
    """Return the number of groups of a regular expression that passed `check_regex`."""
    return re.compile(pattern).groups


def _refuse_foreign_parts(pattern: str) -> None:
    place = depth = 0
    while place < len(pattern):
        char = pattern[place]
        depth += (char == "(") - (char == ")")
        if depth > MOST_OPEN:
            message = f"a regular expression has at most {MOST_OPEN} groups inside each other"
            raise InvalidPatternError(message)
        if char == "\\":
            place = _after(_ESCAPE, pattern, place)
        elif char == "[":
            place = _after_class(pattern, place)
        elif char == "(":
            place = _after(_GROUP, pattern, place)
        elif char in "*+?{":
            place = _after_repetition(pattern, place)
        else:
            place += 1


def _after(expected: re.Pattern[str], pattern: str, place: int) -> int:
    found = expected.match(pattern, place)
    # A group without `?` is matched by its bracket alone, so a bracket and `?` are one that is not known.
    if found is None or (found.group() == "(" and pattern.startswith("(?", place)):
        raise _foreign(pattern[place : place + 3])
    return found.end()


def _after_class(pattern: str, place: int) -> int:
    """Return where the class ends that begins at `place`; one that does not end is found when it is compiled."""
    place += 2 if pattern.startswith("[^", place) else 1
    # A bracket right at the beginning is a member.
    place += pattern.startswith("]", place)
    while place < len(pattern) and pattern[place] != "]":
        if pattern[place] == "[" or pattern[place : place + 2] in {"&&", "--", "~~", "||"} or _OF_CLASSES.match(pattern, place):
            raise _foreign(pattern[place : place + 2])
        place = _after(_ESCAPE, pattern, place) if pattern[place] == "\\" else place + 1
    return place + 1


def _after_repetition(pattern: str, place: int) -> int:
    found = _REPEAT.match(pattern, place)
    if found is None or _REPEATED_AGAIN.match(pattern, found.end()):
        raise _foreign(pattern[place : place + 3])
    if any(int(number) > MOST_REPEATED for number in found.groups() if number):
        message = f"a repetition of a regular expression counts to {MOST_REPEATED} at most"
        raise InvalidPatternError(message, hint="write + or * for any number")
    return found.end()


def _foreign(part: str) -> InvalidPatternError:
    return InvalidPatternError(f"{show(part)} is not for regular expressions of a stream", hint=_HINT)
