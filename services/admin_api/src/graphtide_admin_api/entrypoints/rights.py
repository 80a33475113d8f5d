"""What callers may see and change: rights to patterns by their names, and to streams and the patterns that read them.

What is not granted is denied. Routes about one pattern or one stream need a right to it, and lists show what may be read.
Routes about everything need the whole scope (`Parts.requires`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.any_pattern import ordered_stream
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import logical_stream, merge, sources
from graphtide_serving.access.guard import Subject, forbidden, known_caller, require
from graphtide_serving.access.rights import READ_PATTERNS, WRITE_PATTERNS

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import Request
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_serving.access.callers import Caller
    from graphtide_serving.access.guard import Guard
    from graphtide_wire.control import PatternRecord

    from graphtide_admin_api.application.view import View


class Rights:
    """Gives routes what they need to look at: dependencies, and what a caller may read; safe for threads."""

    def __init__(self, guard: Guard, view: View) -> None:
        """Know patterns and their streams by a view."""
        self._guard = guard
        self._view = view

    def known(self) -> Callable[..., object]:
        """Return the dependency of a route that needs no scope, but a known caller."""
        return self._guard.requires_known()

    def some(self, scope: str) -> Callable[..., object]:
        """Return the dependency of a route that needs a scope of anything, and looks of what by itself."""
        return self._guard.requires_some(scope)

    def of_pattern(self, scope: str) -> Callable[..., object]:
        """Return the dependency of a route that needs a scope of the pattern in its address."""
        return self._guard.requires_of(scope, self._pattern)

    def of_stream(self, scope: str) -> Callable[..., object]:
        """Return the dependency of a route that needs a scope of the stream in its address."""
        return self._guard.requires_of(scope, lambda request: Subject(stream=request.path_params["stream"]))

    def may(self, caller: Caller, scope: str, name: str) -> bool:
        """Whether a caller has a scope of the pattern of a name; of one that is not registered by its name alone.

        Raises:
            TransientError: what is registered was not read yet.
        """
        if caller.may(scope, pattern=name):
            return True
        record = self._view.pattern(name)
        return record is not None and caller.may(scope, stream=_stream_of(record))

    def require(self, caller: Caller, scope: str, name: str) -> None:
        """Do nothing if a caller has a scope of the pattern of a name.

        Raises:
            ProblemError: 403; it shows neither the pattern's stream nor whether the pattern exists.
            TransientError: as `may`.
        """
        if not self.may(caller, scope, name):
            raise forbidden(scope, name)

    def selected(self, request: Request, scope: str) -> Callable[[str], bool] | None:
        """Return which patterns a caller has a scope of, by their names; None means all."""
        caller = known_caller(request)
        return None if caller.may(scope) else lambda name: self.may(caller, scope, name)

    def _pattern(self, request: Request) -> Subject:
        name = request.path_params["name"]
        record = self._view.pattern(name)
        return Subject(name, None if record is None else _stream_of(record))


class Changes:
    """What a caller may change of registrations; a `MayChange`."""

    def __init__(self, request: Request) -> None:
        """Decide by the scopes of who makes a request."""
        self._caller = known_caller(request)
        self.sees_all = self._caller.may(READ_PATTERNS)

    def check_new(self, pattern: AnyPattern) -> None:
        """Do nothing if the caller may register this; of a view by stream, if the stream that it makes is the caller's, too.

        Raises:
            ProblemError: 403.
        """
        require(
            self._caller, WRITE_PATTERNS, pattern.name, _list_written(pattern.name, ordered_stream(pattern), pattern.is_view)
        )

    def check_old(self, record: PatternRecord) -> None:
        """Do nothing if the caller may change or delete this.

        Raises:
            ProblemError: 403; it does not show its stream.
        """
        stream = _list_written(record.name, record.stream, record.view is True)
        if not self._caller.may(WRITE_PATTERNS, pattern=record.name, stream=stream):
            raise forbidden(WRITE_PATTERNS, record.name)

    def sees(self, record: PatternRecord) -> bool:
        """Whether the caller may know of a registration."""
        return may_read(self._caller, READ_PATTERNS, record)


def may_read(caller: Caller, scope: str, record: PatternRecord) -> bool:
    """Whether a caller has a scope of a registered pattern."""
    return caller.may(scope, pattern=record.name) or caller.may(scope, stream=_stream_of(record))


def _list_written(name: str, stream: str, is_view: bool) -> str:
    """Return the streams that a registration is about, merged: those that it reads, and that of a view."""
    read = logical_stream(StreamName(stream))
    return merge((*sources(read), StreamName(name))) if is_view else read


def _stream_of(record: PatternRecord) -> str:
    return logical_stream(StreamName(record.stream))
