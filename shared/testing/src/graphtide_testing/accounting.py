"""Accounting for matches: what a pattern's user asked for, held against what consumers got.

Of a pattern under account, every ordered record completes exactly one match, so a match shows the offset of the record that
completed it. These rules hold for one name, after any moves of its plans and any kills:

1. No version reports an offset twice, and no two versions report the same one.
2. Later offsets are reported by the same version or a later one, and none by a version before its start.
3. Reports between two starts of the pattern (its registration, or the end of a pause) begin right there and have no gap. The
   exception is a version that was replaced before it began.
4. A pattern that is left active has reported everything up to the end, with the same exception.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from graphtide_wire.matches import participants

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

Reported = tuple[int, int]
"""Version of the pattern, offset of the record that completed the match."""


def completed_by(body: bytes) -> str:
    """Return the id of the edge or event that completed a match: the one named `y`; nothing if it has not exactly one."""
    of = participants(body)["y"]
    if isinstance(of, str):
        return of
    return of[0] if len(of) == 1 else ""


@dataclass(slots=True)
class Registration:
    """One life of a name, from its registration to its deletion.

    Attributes:
        versions: each with the offset that it was registered at, in order.
        begun: offsets where the pattern started to report: its registration, and the end of every pause.
        is_active: whether it shall report at the end.
    """

    versions: list[tuple[int, int]]
    begun: list[int] = field(default_factory=list)
    is_active: bool = True


@dataclass(slots=True)
class Account:
    """What the user of one name asked for, in order.

    Attributes:
        registrations: its lives.
        unheard: versions that must have existed, though their registrations were never seen: then nothing can be settled.
    """

    registrations: list[Registration] = field(default_factory=list)
    unheard: list[int] = field(default_factory=list)

    def register(self, version: int, start: int) -> None:
        """Note a registration of a name that was free."""
        self.registrations.append(Registration([(version, start)], [start]))

    def replace(self, version: int, start: int) -> None:
        """Note another text."""
        self.registrations[-1].versions.append((version, start))

    def pause(self) -> None:
        """Note that it shall not report."""
        self.registrations[-1].is_active = False

    def resume(self, start: int) -> None:
        """Note that it shall report again, from an offset on."""
        self.registrations[-1].begun.append(start)
        self.registrations[-1].is_active = True

    def delete(self) -> None:
        """Note that it is not to be matched any more."""
        self.registrations[-1].is_active = False

    def flaws(self, reported: Iterable[Reported], offsets: Sequence[int]) -> list[str]:
        """Return what is wrong with what consumers got.

        Args:
            reported: all matches of the name.
            offsets: those of the stream's records, in order. Each record completes a match.
        """
        counts = Counter(reported)
        found = [
            f"version {version} reported {offset} {times} times" for (version, offset), times in counts.items() if times > 1
        ]
        found += [f"version {version} was not heard of" for version in self.unheard]
        known = {version for each in self.registrations for version, _ in each.versions}
        found += [f"version {version} is unknown" for version in sorted({version for version, _ in counts} - known)]
        reports: list[set[tuple[int, int]]] = [set() for _ in self.registrations]
        for version, offset in counts:
            lives = [place for place, each in enumerate(self.registrations) if version in dict(each.versions)]
            if lives:
                # A deleted version that was never announced may be given again: then the later life reported it.
                later = [place for place in lives if self.registrations[place].begun[0] <= offset]
                reports[(later or lives[:1])[-1]].add((offset, version))
        for each, reported_in_it in zip(self.registrations, reports, strict=True):
            found += _flaws(each, reported_in_it, offsets)
        return found


def _flaws(life: Registration, reported: Collection[tuple[int, int]], offsets: Sequence[int]) -> list[str]:
    """Return what is wrong in one life of a name; `reported` are offsets with versions."""
    placed = sorted(reported)
    found = [f"{two} follows {one}" for one, two in pairwise(placed) if one[0] == two[0] or one[1] > two[1]]
    starts = dict(life.versions)
    found += [f"version {each} reported {offset}, before its start" for offset, each in placed if offset < starts[each]]
    at = {offset for offset, _ in placed}
    skipped = {each for each, _ in life.versions[:-1]} - {version for _, version in placed}
    found += [f"{offset} was reported before the start" for offset in sorted(at) if offset < life.begun[0]]
    for place, start in enumerate(life.begun):
        is_last = place + 1 == len(life.begun)
        until = offsets[-1] + 1 if is_last and offsets else life.begun[place + 1] if not is_last else start
        wanted = [offset for offset in offsets if start <= offset < until and _owner(life, offset) not in skipped]
        missing = [offset for offset in wanted if offset not in at]
        followers = [offset for offset in wanted if offset in at and missing and offset > missing[0]]
        if followers:
            found.append(f"{missing[0]} was not reported, and {followers[0]} was")
        if is_last and life.is_active and missing:
            found.append(f"{len(missing)} from {missing[0]} on were not reported")
    return found


def _owner(life: Registration, offset: int) -> int:
    """Return the newest version that was registered at an offset."""
    return max(version for version, start in life.versions if start <= offset)
