"""Which matches a target asks for."""

from __future__ import annotations

from enum import Enum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from graphtide_core.annotations import Severity
from graphtide_core.match import MatchKind

if TYPE_CHECKING:
    from graphtide_wire.control import AnnotationsForm
    from graphtide_wire.matches import MatchEvent
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
