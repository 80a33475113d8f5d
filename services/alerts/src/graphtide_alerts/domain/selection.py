"""Which matches a target asks for, and which of those nobody is alerted of now."""

from __future__ import annotations

from enum import Enum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from graphtide_core.annotations import Severity
from graphtide_core.match import MatchKind
from graphtide_wire.matches import bound_vertices

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from graphtide_wire.control import AnnotationsForm
    from graphtide_wire.matches import MatchEvent
    from graphtide_wire.mutes import MuteRecord
    from graphtide_wire.targets import TargetRecord


class Choice(Enum):
    """What a target asks of a match."""

    WANTED = "wanted"
    NOT_WANTED = "not wanted"
    RETRACTION = "a retraction that it does not ask for"


def choose(target: TargetRecord, event: MatchEvent, said: AnnotationsForm) -> Choice:
    """Return whether a target asks for a match; what was found in history alerts nobody."""
    if event.is_backfilled or not fnmatchcase(event.pattern, _without_sets(target.patterns)):
        return Choice.NOT_WANTED
    if target.severity is not None:
        is_severe = said.severity is not None and Severity(said.severity).rank >= Severity(target.severity).rank
        if not is_severe:
            return Choice.NOT_WANTED
    if event.kind is MatchKind.RETRACT and not target.retractions:
        return Choice.RETRACTION
    return Choice.WANTED


def _without_sets(glob: str) -> str:
    """Return the glob with brackets as themselves: `*` and `?` are its only signs."""
    return glob.replace("[", "[[]")


class Mutes:
    """The mutes of a deployment, found by what they mute."""

    def __init__(self) -> None:
        """Know none."""
        self._by_id: dict[str, MuteRecord] = {}
        self._by_subject: dict[tuple[str | None, str | None], dict[str, MuteRecord]] = {}

    def put(self, mute: MuteRecord) -> None:
        """Add a mute, or replace it."""
        self.end(mute.id)
        self._by_id[mute.id] = mute
        self._by_subject.setdefault(_subject(mute), {})[mute.id] = mute

    def end(self, id: str) -> None:
        """Remove a mute, if it is there."""
        mute = self._by_id.pop(id, None)
        if mute is not None:
            self._by_subject[_subject(mute)].pop(id)

    def cover(self, pattern: str, body: bytes, now: datetime) -> bool:
        """Whether a match is muted. Complexity: O(vertices that the match binds + mutes of its subjects)."""
        if not self._by_id:
            return False
        vertices: Iterable[str | None] = (None, *bound_vertices(body))
        subjects = ((of, vertex) for of in (None, pattern) for vertex in vertices)
        return any(mute.holds(now) for subject in subjects for mute in self._by_subject.get(subject, {}).values())


def _subject(mute: MuteRecord) -> tuple[str | None, str | None]:
    return mute.pattern, None if mute.key is None else mute.key.vertex
