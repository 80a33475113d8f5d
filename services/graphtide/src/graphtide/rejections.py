"""What of a stream could not be used, counted by reason, and the words that say so.

Records that are bad or late are rejected, and values that no attribute can have are missing. Neither is ever silent: commands
say it on standard error, functions warn.

Cost: a look-up a rejected record. The reasons that are counted by themselves are few, whatever the stream holds.
"""

from __future__ import annotations

import inspect
import re
import warnings
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FatalError
from graphtide_query.known_attributes import attributes_but_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.ports.dead_letter_sink import DeadLetter

    from graphtide.readers import Settled, UnusableValues
    from graphtide.remedies import Remedies

    Warn = Callable[[str], None]

_PACKAGE = __name__.partition(".")[0]

LATE: Final = "late"
AHEAD: Final = "too far ahead"
_OTHER: Final = "other reasons"
_NO_JSON: Final = "not a JSON object"

MOST_REASONS: Final = 16
"""Reasons that are counted by themselves; records with further ones are counted together."""

_SHOWN: Final = 5
"""Reasons that are shown; the summary has all."""

_KNOWN: Final = 1_024
"""Texts of reasons whose kind is remembered."""

_LONGEST: Final = 200
"""Characters of a reason that are looked at."""

_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"|-?\b\d[\d.]*')
_OF_STREAM = re.compile(r"stream [^:]{1,200}: ")
_LATE = re.compile(r"late: ts (-?\d+) is before the watermark (-?\d+) \(lateness (\d+)\)")
_PERCENTAGE = re.compile(r"(\d{1,3}(?:\.\d{1,9})?) ?%")


class StreamWarning(UserWarning):
    """Part of a stream was lost: records were rejected or dropped, values are missing, or a limit gave up work."""


class DuplicateWarning(StreamWarning):
    """Records were dropped as duplicates, and nothing else was lost."""


class RejectedRecordsError(FatalError):
    """More records were rejected than the caller allows; the matches of the others were given.

    Attributes:
        rejected: how many.
        records: of so many.
        matches: what `Session.finish` would have returned; empty where matches were iterated.
    """

    def __init__(self, rejected: int, records: int, most: Fraction) -> None:
        """Say how many, and how many there may be."""
        super().__init__(
            f"{rejected:,} of {records:,} records were rejected, {show_share(rejected, records)}; "
            f"max_rejected={_show(most)!r} allows less; take_dead_letters() gives them"
        )
        self.rejected = rejected
        self.records = records
        self.matches: Sequence[object] = ()


@dataclass(slots=True)
class RejectionCount:
    """How many records were rejected for one reason: without the values in it, as `late`, or `ts … is not an integer`."""

    reason: str
    records: int
    first: DeadLetter


@dataclass(slots=True)
class Rejections:
    """How many records were rejected, why, and the first of them.

    Attributes:
        count: of all.
        first: the first in the stream.
        reasons: by reason, in the order in which they came up.
        missing_lateness: ticks of lateness with which no record would have been late; 0 if none was, or none helps.
    """

    count: int = 0
    first: DeadLetter | None = None
    reasons: dict[str, RejectionCount] = field(default_factory=dict)
    missing_lateness: int = 0
    _known: dict[str, str] = field(default_factory=dict)

    def add(self, letters: Sequence[DeadLetter]) -> None:
        """Take letters that follow those taken before."""
        self.count += len(letters)
        if self.first is None and letters:
            # Bad ones and late ones come apart, each by itself in the order of the stream.
            self.first = min(letters, key=lambda letter: letter.line)
        for letter in letters:
            reason = self._kind(letter.reason)
            counted = self.reasons.get(reason)
            if counted is None:
                if len(self.reasons) >= MOST_REASONS:
                    reason = _OTHER
                counted = self.reasons.setdefault(reason, RejectionCount(reason, 0, letter))
            counted.records += 1

    def joined_with(self, later: Rejections) -> Rejections:
        """Return these and later ones together."""
        reasons = {name: replace(each) for name, each in self.reasons.items()}
        for name, each in later.reasons.items():
            own = name if name in reasons or len(reasons) < MOST_REASONS else _OTHER
            counted = reasons.setdefault(own, RejectionCount(own, 0, each.first))
            counted.records += each.records
        return Rejections(
            self.count + later.count, self.first or later.first, reasons, max(self.missing_lateness, later.missing_lateness)
        )

    @property
    def late(self) -> int:
        """How many were late."""
        counted = self.reasons.get(LATE)
        return 0 if counted is None else counted.records

    def _kind(self, text: str) -> str:
        known = self._known.get(text)
        if known is not None:
            return known
        from graphtide_wire.dead_letters import ErrorCode, code_of  # noqa: PLC0415 - runs that reject nothing do without

        reason = text[:_LONGEST]
        if found := _OF_STREAM.match(reason):
            reason = reason[found.end() :]
        code = code_of(reason)
        if code is ErrorCode.LATE:
            # No two are alike, so none is remembered.
            if late := _LATE.match(reason):
                self.missing_lateness = max(self.missing_lateness, int(late[2]) - int(late[1]) + int(late[3]))
            return LATE
        kind = AHEAD if code is ErrorCode.FUTURE else " ".join(_VALUE.sub("…", reason).split())
        if len(self._known) >= _KNOWN:
            self._known.clear()
        self._known[text] = kind
        return kind

    def is_all(self, records: int) -> bool:
        """Return whether of so many records none could be used, though there was one."""
        return 0 < records <= self.count

    def sentences(self, records: int, place: str, how: str, remedies: Remedies | None = None) -> list[str]:
        """Return the sentences about them, nothing if there are none: all together, then by reason if there are several.

        Args:
            records: how many there were of all.
            place: what a letter's line counts: `line`, `row` or `record`.
            how: what shows them.
            remedies: what to do about those that are late, too far ahead or of another format, if that is to be said.
        """
        if self.first is None:
            return []
        were = "was" if self.count == 1 else "were"
        first = f"the first at {place} {self.first.line} ({_one_line(self.first.reason)})"
        whole = f"{self.count:,} of {records:,} record{'s' * (records != 1)} {were} rejected, {first}; {how}"
        if remedies is not None and self.is_all(records) and all(reason.startswith(_NO_JSON) for reason in self.reasons):
            whole += f"; {remedies.formatted} reads another format than JSON Lines"
        counted = sorted(self.reasons.values(), key=lambda each: -each.records)
        if len(counted) == 1:
            return [whole + self._remedy(counted[0].reason, remedies)]
        shown = [
            f"{each.records:,} of them: {each.reason}, the first at {place} {each.first.line}"
            + self._remedy(each.reason, remedies)
            for each in counted[:_SHOWN]
        ]
        rest = sum(each.records for each in counted[_SHOWN:])
        return [whole, *shown, *([f"{rest:,} of them: for other reasons"] if rest else [])]

    def _remedy(self, reason: str, remedies: Remedies | None) -> str:
        if remedies is None:
            return ""
        if reason == LATE and self.missing_lateness:
            return f"; {remedies.lateness(self.missing_lateness)} puts them back in order"
        return f"; {remedies.ahead} sets how far ahead a record may be" if reason == AHEAD else ""


def share_of(text: str) -> Fraction:
    """Read a percentage: `5%`, `0.5%`, or `0`.

    Raises:
        ValueError: the text is not a percentage from 0% to 100%.
    """
    found = _PERCENTAGE.fullmatch(text.strip())
    if found is not None and (share := Fraction(found[1]) / 100) <= 1:
        return share
    if text.strip() == "0":
        return Fraction(0)
    hint = f": write {text.strip()}%" if _PERCENTAGE.fullmatch(f"{text.strip()}%") else ", such as 5% or 0.5%"
    message = f"{text[:40]!r} is not a percentage from 0% to 100%{hint}"
    raise ValueError(message)


def is_too_much(rejected: int, records: int, most: Fraction) -> bool:
    """Return whether some records were rejected and their share is not below what it may be."""
    return rejected > 0 and rejected >= most * records


def show_share(part: int, whole: int) -> str:
    """Return a share as a percentage that is not rounded to nothing or to all."""
    share = 100 * part / whole
    if 0 < share < 0.01:
        return "less than 0.01 %"
    return f"{min(share, 99.99) if part < whole else share:.4g} %"


def _show(share: Fraction) -> str:
    return f"{float(100 * share):g}%"


def _one_line(reason: str) -> str:
    return " ".join(reason.split())


def notes_on_unusable_values(found: Iterable[UnusableValues], place: str) -> list[str]:
    """Return a sentence for each attribute whose values are missing because no attribute can have them."""
    return [
        f"attribute {unusable.name!r} was {unusable.found} in {unusable.records:,} record{'s' * (unusable.records != 1)}, "
        f"the first at {place} {unusable.line}; such a value counts as missing"
        for unusable in found
    ]


def notes_on_settled_columns(found: Iterable[Settled], patterns: Iterable[AnyPattern], remedy: str) -> list[str]:
    """Return a sentence for each column that holds texts although a pattern takes it for numbers or Booleans.

    `remedy` says what reads column `{column}` as numbers.
    """
    wanted = attributes_but_texts(patterns)
    return [
        f"column {each.column!r} holds texts, because of {each.text!r} in line {each.line}; a pattern takes it for numbers or "
        f"Booleans, which texts never are; {remedy.format(column=each.column)} reads it as numbers"
        for each in found
        if each.column in wanted
    ]


def warn(text: str, category: type[Warning] = StreamWarning) -> None:
    """Warn the code that called into this package."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
