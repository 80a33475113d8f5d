"""Zones of time as texts: a fixed offset from UTC, or a name of the time zone database.

Whether the database has a name is not checked here, because it is a file of the machine; see `offset_of` for fixed ones.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.suggestion import show

_OFFSET: Final = re.compile(r"([+-])([01][0-9]|2[0-3]):?([0-5][0-9])")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,3}")
_LONGEST_NAME: Final = 64


def check_zone(zone: str) -> None:
    """Check the form of a zone.

    Raises:
        InvalidPatternError: it is neither an offset nor a name.
    """
    if offset_of(zone) is None and (len(zone) > _LONGEST_NAME or _NAME.fullmatch(zone) is None):
        message = f"{show(zone)} is not a zone of time"
        raise InvalidPatternError(message, hint="write a name such as 'Europe/Berlin', an offset such as '+02:00', or 'UTC'")


def offset_of(zone: str) -> timedelta | None:
    """Return the offset of a zone such as `+02:00`, or of UTC; None for other names."""
    if zone == "UTC":
        return timedelta(0)
    found = _OFFSET.fullmatch(zone)
    if found is None:
        return None
    sign, hours, minutes = found.groups()
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return -offset if sign == "-" else offset
