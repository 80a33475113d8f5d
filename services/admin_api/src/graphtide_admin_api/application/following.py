"""Matches as events, one after the other, from a place on: none left out, none twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from graphtide_core.errors import TransientError
from graphtide_wire.place import Place, Places

from graphtide_admin_api.application.matches import all_from_the_log, from_the_log

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphtide_core.ports.log import Log

    from graphtide_admin_api.application.matches import Kept, RecentMatches

_MOST: Final = 1_000


class Event(Protocol):
    """A match and its place; a reader that has seen it continues after the place."""

    @property
    def place(self) -> Place | Places | int:
        """The place."""
        ...

    @property
    def body(self) -> bytes:
        """The match record as JSON."""
        ...


class Follows(Protocol):
    """Gives matches as they come."""

    def take(self) -> Sequence[Event]:
        """Return what follows and is there, up to a bound; may read the log.

        Raises:
            TransientError: the log does not answer.
        """
        ...


class WhileAllowed:
    """Follows something as long as it may be read: another text of a pattern may read another stream."""

    def __init__(self, following: Follows, is_allowed: Callable[[], bool]) -> None:
        """Ask before anything is given."""
        self._following = following
        self._is_allowed = is_allowed

    def take(self) -> Sequence[Event]:
        """Return what follows.

        Raises:
            TransientError: it may not be read any more, so that the client asks again; or the log does not answer.
        """
        found = self._following.take()
        if not self._is_allowed():
            message = "this may not be read any more"
            raise TransientError(message)
        return found


@dataclass(frozen=True, slots=True)
class Followed:
    """A match, and the place that a reader who has seen it continues after.

    Where all patterns are followed, it says how far every partition was.
    """

    place: Place | Places
    match: Kept

    @property
    def body(self) -> bytes:
        """The match record as JSON."""
        return self.match.body


class FollowsMatches(Follows, Protocol):
    """Gives matches as they come, each with its pattern."""

    def take(self) -> Sequence[Followed]:
        """Return what follows and is there, up to a bound; raises as that of `Follows`."""
        ...


@dataclass(frozen=True, slots=True)
class _Listed:
    place: Place | Places
    body: bytes


class AsListed:
    """Follows matches, and gives each as a list of matches shows it."""

    def __init__(self, following: FollowsMatches, show: Callable[[Kept], bytes]) -> None:
        """Show each by a function."""
        self._following = following
        self._show = show

    def take(self) -> Sequence[Event]:
        """Return what follows.

        Raises:
            TransientError: the log does not answer, or what is shown beside matches was not read yet.
        """
        return [_Listed(each.place, self._show(each.match)) for each in self._following.take()]


class Following:
    """Follows one pattern; for one thread at once."""

    def __init__(self, log: Log, topic: str, recent: RecentMatches, name: str, after: Place | None) -> None:
        """Begin after a place; None begins with what is kept."""
        self._log = log
        self._topic = topic
        self._recent = recent
        self._name = name
        self._after = after

    def take(self) -> list[Followed]:
        """Return what follows and is there, up to a bound; may read the log.

        Raises:
            TransientError: the log does not answer.
        """
        found = self._recent.since(self._name, self._after)
        if found is None and self._after is not None:
            # What was read without finding any is not read again.
            read, self._after = from_the_log(self._log, self._topic, self._name, self._after, _MOST)
            return [Followed(each.place, each) for each in read]
        found = (found or [])[:_MOST]
        if found:
            self._after = found[-1].place
        return [Followed(each.place, each) for each in found]


class FollowingAll:
    """Follows all patterns; for one thread at once. Partitions are followed side by side, each in its order."""

    def __init__(
        self, log: Log, topic: str, recent: RecentMatches, after: Places, may_read: Callable[[str], bool] | None = None
    ) -> None:
        """Begin after these places; in a partition that is not among them with its first match.

        `may_read` says whether matches of a pattern may be read, and is asked for each; None allows all.
        """
        self._log = log
        self._topic = topic
        self._recent = recent
        self._after = dict(after.offsets)
        self._may_read = may_read

    def take(self) -> list[Followed]:
        """Return what follows and is there, up to a bound; may read the log.

        Raises:
            TransientError: the log does not answer.
        """
        found = self._recent.of_all_since(self._after)
        if found is not None:
            return self._emitted(found[:_MOST])
        read, reached = all_from_the_log(self._log, self._topic, self._after, _MOST)
        emitted = self._emitted(read)
        self._after = reached
        return emitted

    def _emitted(self, found: list[Kept]) -> list[Followed]:
        emitted = []
        for each in found:
            self._after[each.place.partition] = each.place.offset
            if self._may_read is None or self._may_read(each.pattern):
                emitted.append(Followed(Places(dict(self._after)), each))
        return emitted
