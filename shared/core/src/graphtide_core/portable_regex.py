r"""Regular expressions that Python's `re` and Rust's linear-time `regex` read alike: the subset that streams may use.

Engines match them in Rust and the oracle in Python, so what only one of them has is refused. That is lookaround,
backreferences, atomic groups, possessive repetitions, operations on classes, and escapes such as `\Z` and `\p{…}`. So is a
repetition of what may be empty, `(a*)*`, whose groups differ. `\d`, `\w`, `\s`, `\b` and `(?i)` are about ASCII, whatever
version of Unicode a library has; `$` is the end alone. Cost: linear in the text, and in the parts of the expression with its
repetitions written out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.suggestion import show

LONGEST_REGEX: Final = 1_000
"""Characters of a regular expression."""

MOST_REPEATED: Final = 255
"""The largest number in `{…}`."""

MOST_OPEN: Final = 50
"""Groups inside each other."""

MOST_PARTS: Final = 10_000
"""Characters and members of classes once repetitions are written out."""

_HINT: Final = "use what a search in linear time has: groups, classes, alternatives, * + ? {1,3}, ^ $ and (?i)"
_ESCAPE: Final = re.compile(
    r"\\(?:[dDwWsSbBAnrtfv]|x[0-9A-Fa-f]{2}|u(?:[0-9A-CE-Fa-ce-f][0-9A-Fa-f]|[Dd][0-7])[0-9A-Fa-f]{2}|[!-/:;=?@\[-`{-~])"
)
_OF_CLASSES: Final = re.compile(r"\\[bBA]")
"""Escapes that mean something else, or nothing, in a class."""
_GROUP: Final = re.compile(r"\((?:\?(?:P<[A-Za-z_][A-Za-z0-9_]*>|:|[ims]+\)|[ims]+:))?")
_REPEAT: Final = re.compile(r"(?:[*+?]|\{([0-9]{1,4})(?:,([0-9]{0,4}))?\})\??")
_REPEATED_AGAIN: Final = re.compile(r"[*+?{]")


@lru_cache(maxsize=256)
def check_regex(pattern: str) -> None:
    """Check a regular expression; the last that passed are known, because a call is checked whenever it is made.

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


@dataclass(slots=True)
class _Open:
    """A group that is read: what its alternatives have so far.

    Attributes:
        parts: of all alternatives, with repetitions written out.
        may_be_empty: whether an alternative before the present one may be empty.
        is_empty: whether the present one may be empty, but for its last part.
        last_parts: of its last part.
        is_last_empty: whether its last part may be empty.
    """

    parts: int = 0
    may_be_empty: bool = False
    is_empty: bool = True
    last_parts: int = 0
    is_last_empty: bool = True

    def add(self, parts: int, *, may_be_empty: bool) -> None:
        """Add a part."""
        self._close_part()
        self.last_parts, self.is_last_empty = parts, may_be_empty

    def end_alternative(self) -> None:
        """Begin the next alternative."""
        self._close_part()
        self.may_be_empty |= self.is_empty
        self.is_empty = True

    def repeat(self, least: int, most: int, shown: str) -> None:
        """Repeat the last part."""
        if self.is_last_empty and most > 1:
            message = f"the regular expression repeats what may be empty: {show(shown)}"
            raise InvalidPatternError(message, hint="inside of what is repeated, write + in the place of *")
        self.last_parts *= most
        self.is_last_empty |= least == 0

    def _close_part(self) -> None:
        self.is_empty &= self.is_last_empty
        self.parts += self.last_parts
        self.last_parts, self.is_last_empty = 0, True
        if self.parts > MOST_PARTS:
            message = f"a regular expression has at most {MOST_PARTS:,} parts with its repetitions written out"
            raise InvalidPatternError(message, hint="write + or * in the place of large numbers, or match a shorter part")


def _refuse_foreign_parts(pattern: str) -> None:
    place = 0
    groups = [_Open()]
    while place < len(pattern):
        char, start, group = pattern[place], place, groups[-1]
        if char == "\\":
            place = _after(_ESCAPE, pattern, place)
            group.add(1, may_be_empty=pattern[start + 1] in "bBA")
        elif char == "[":
            place = _after_class(pattern, place)
            group.add(place - start, may_be_empty=False)
        elif char == "(":
            place = _after(_GROUP, pattern, place)
            # Flags alone are not a group.
            if pattern[place - 1] != ")":
                groups.append(_Open())
        elif char in "*+?{":
            place, least, most = _read_repetition(pattern, place)
            group.repeat(least, most, pattern[max(start - 8, 0) : place])
        else:
            place += 1
            _read_sign(char, groups)
        if len(groups) > MOST_OPEN + 1:
            message = f"a regular expression has at most {MOST_OPEN} groups inside each other"
            raise InvalidPatternError(message)
    groups[-1].end_alternative()


def _read_sign(char: str, groups: list[_Open]) -> None:
    """Read a character outside of classes that begins nothing; a bracket too many is found when the expression is compiled."""
    match char:
        case "|":
            groups[-1].end_alternative()
        case ")" if len(groups) > 1:
            closed = groups.pop()
            closed.end_alternative()
            groups[-1].add(closed.parts, may_be_empty=closed.may_be_empty)
        case _:
            groups[-1].add(1, may_be_empty=char in "^$")


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


def _read_repetition(pattern: str, place: int) -> tuple[int, int, int]:
    """Return where a repetition ends, and its least and most times; any number counts as two."""
    found = _REPEAT.match(pattern, place)
    if found is None or _REPEATED_AGAIN.match(pattern, found.end()):
        raise _foreign(pattern[place : place + 3])
    if any(int(number) > MOST_REPEATED for number in found.groups() if number):
        message = f"a repetition of a regular expression counts to {MOST_REPEATED} at most"
        raise InvalidPatternError(message, hint="write + or * for any number")
    if pattern[place] != "{":
        return found.end(), int(pattern[place] == "+"), 1 if pattern[place] == "?" else 2
    least = int(found[1])
    return found.end(), least, int(found[2]) if found[2] else least if found[2] is None else max(2, least + 1)


def _foreign(part: str) -> InvalidPatternError:
    return InvalidPatternError(f"{show(part)} is not for regular expressions of a stream", hint=_HINT)
