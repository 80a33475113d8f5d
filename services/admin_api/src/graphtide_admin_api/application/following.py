"""The matches of a pattern as events, one after the other, from a place on: none left out, none twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_admin_api.application.matches import from_the_log

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log
    from graphtide_wire.place import Place

    from graphtide_admin_api.application.matches import Kept, RecentMatches

_MOST: Final = 1_000


class Following:
    """Follows one pattern; for one thread at once."""

    def __init__(self, log: Log, topic: str, recent: RecentMatches, name: str, after: Place | None) -> None:
        """Begin after a place; None begins with what is kept."""
        self._log = log
        self._topic = topic
        self._recent = recent
        self._name = name
        self._after = after

    def take(self) -> list[Kept]:
        """Return what follows and is there, up to a bound; may read the log.

        Raises:
            TransientError: the log does not answer.
        """
        found = self._recent.since(self._name, self._after)
        if found is None and self._after is not None:
            # What was read without finding any is not read again.
            read, self._after = from_the_log(self._log, self._topic, self._name, self._after, _MOST)
            return read
        found = (found or [])[:_MOST]
        if found:
            self._after = found[-1].place
        return found
