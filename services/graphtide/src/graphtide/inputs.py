"""Streams by name, for streaming graph queries that read several: what is given, and whether that is what they read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_query.families import family_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from graphtide_core.any_pattern import AnyPattern

MOST: Final = 64
"""Streams of one pass: of each some batches are in memory."""


class Inputs:
    """Streams by the names that queries call them: `Inputs(social=…, tx=…)`.

    Each is anything that `match` takes as one stream, except asynchronous ones. It is in order of time by itself, with ids and
    duplicates of its own. They are read as one stream in the order of time; of equal times the names decide.
    """

    __slots__ = ("_streams",)

    def __init__(self, streams: Mapping[str, object] | None = None, /, **named: object) -> None:
        """Take streams: a mapping, for names that are not words of Python, or by keywords.

        Raises:
            TypeError: a name is given twice.
            ValueError: there is no stream, or more than 64.
        """
        twice = sorted(set(streams or ()) & set(named))
        if twice:
            message = f"stream {twice[0]!r} is given twice"
            raise TypeError(message)
        self._streams = {**(streams or {}), **named}
        if not 1 <= len(self._streams) <= MOST:
            message = f"1 to {MOST} streams can be read at once, not {len(self._streams)}"
            raise ValueError(message)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order they were given."""
        return tuple(self._streams)

    def __iter__(self) -> Iterator[tuple[str, object]]:
        """Yield names with their streams, in the order of the names."""
        return iter(sorted(self._streams.items()))


class Spelling(NamedTuple):
    """How streams are given by name: what gives one, with `{name}` in it, and what separates two."""

    one: str
    between: str = " "
    around: str = "{streams}"

    def of(self, names: Iterable[str]) -> str:
        """Return what gives these."""
        return self.around.format(streams=self.between.join(self.one.format(name=name) for name in names))


IN_PYTHON: Final = Spelling("{name}=…", ", ", "graphtide.Inputs({streams})")


def flaw_of_streams(patterns: Iterable[AnyPattern], given: Iterable[str] | None, spelling: Spelling) -> str | None:
    """Return why patterns cannot be matched with what is given, and what to give instead; None if they can.

    Args:
        patterns: of one pass.
        given: names of streams; None for one stream without a name, for patterns that read any one stream.
        spelling: of streams that are given by name.
    """
    patterns = tuple(patterns)
    views = {str(each.name) for each in patterns if each.is_view}
    for pattern in patterns:
        if not family_of(pattern).reads_by_name:
            if given is not None:
                return f"pattern {pattern.name!r} reads one stream, not streams by name: only streaming graph queries do"
            continue
        own = tuple(map(str, pattern.streams))
        if read := [name for name in own if name in views]:
            return (
                f"query {pattern.name!r} reads the view {read[0]!r}, whose results are not read in the same pass: "
                "match the view by itself, and give its edges to what reads them"
            )
        if given is None and len(own) > 1:
            return f"query {pattern.name!r} reads {len(own)} streams: give {spelling.of(own)}"
    if given is None:
        return None
    names = dict.fromkeys(str(name) for each in patterns if family_of(each).reads_by_name for name in each.streams)
    given = tuple(given)
    if unread := [name for name in given if name not in names]:
        return f"no query reads a stream {unread[0]!r}: they read {', '.join(names)}; give {spelling.of(names)}"
    if missing := [name for name in names if name not in given]:
        return f"stream {missing[0]!r} is missing: give {spelling.of(names)}"
    return None
