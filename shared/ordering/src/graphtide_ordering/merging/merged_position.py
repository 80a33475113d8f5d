"""Where merging continues in one of the ordered topics that it reads, and what has to be known there."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from graphtide_core.errors import FatalError
from graphtide_core.ports.log import Position
from graphtide_core.time import MIN_EVENT_TIME
from graphtide_log.window_log import Instant
from msgspec import Meta

FORM: Final = 1
"""Number of the form of what is remembered; other numbers are refused."""

_Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class MergedPosition(msgspec.Struct, frozen=True):
    """Fields kept beside the position of a source. The last three are of the merged stream, and the same in all of a commit.

    Attributes:
        rows: edges of the record at the position that have gone out.
        epoch: of the source, of what comes next.
        reached: least time of what comes next in that epoch.
        ordered: how many edges of the merged stream went out.
        numbered: those of them that are not deletions.
        passed: epoch and time of the merged stream; earlier edges must not go out.
        form: see `FORM`.
    """

    rows: _Count = 0
    epoch: _Count = 0
    reached: _Int64 = MIN_EVENT_TIME
    ordered: _Count = 0
    numbered: _Count = 0
    passed: tuple[_Count, _Int64] = (0, MIN_EVENT_TIME)
    form: int = FORM

    @property
    def instant(self) -> Instant:
        """The least instant of what the source gives next."""
        return Instant(self.epoch, self.reached)

    def at(self, offset: int) -> Position:
        """Return what to commit for the record at an offset."""
        return Position(offset, msgspec.json.encode(self).decode())


def merged_position(position: Position) -> MergedPosition:
    """Return the fields that were kept with a position.

    Raises:
        FatalError: another program wrote it, or a newer version.
    """
    try:
        found = msgspec.json.decode(position.metadata, type=MergedPosition)
    except msgspec.DecodeError as error:
        message = f"a position of merging is not one: {error}"
        raise FatalError(message) from error
    if found.form != FORM:
        message = f"a position of merging has form {found.form}, this version knows {FORM}: bring it up to date"
        raise FatalError(message)
    return found
