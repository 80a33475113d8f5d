"""Whether the time zone database of this machine has a zone; without a database every name of the right form is accepted."""

from __future__ import annotations

from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from graphtide_core.errors import InvalidPatternError
from graphtide_core.suggestion import did_you_mean, show
from graphtide_core.zones import offset_of

_EXAMPLE: Final = "names are those of the time zone database, such as Europe/Berlin; an offset is '+02:00'"


def refuse_unknown_zone(zone: str) -> None:
    """Check a zone whose form is right.

    Raises:
        InvalidPatternError: the database does not have it.
    """
    if offset_of(zone) is not None:
        return
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        known = available_timezones()
        if known:
            message = f"there is no zone {show(zone)}"
            raise InvalidPatternError(message, hint=did_you_mean(zone, known) or _EXAMPLE) from None
