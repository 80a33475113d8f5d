"""Create the inputs of a streaming graph query as its rules need them, and bind the windows of a text."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.graph_query import Input
from graphtide_core.ids import StreamName
from graphtide_core.stream_window import StreamWindow, WindowKind
from graphtide_core.time import Duration

from graphtide_query.language import graph_ast
from graphtide_query.language.clauses import bind_spelled_time, require_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.predicate import Expression

UNLABELLED = "edges"
"""The name of an input of edges of every label."""


def find_on(clauses: Iterable[object]) -> graph_ast.StreamOn | None:
    """Return the ON among clauses, if there is one.

    Raises:
        InvalidPatternError: there are two; at the second.
    """
    found = [each for each in clauses if isinstance(each, graph_ast.StreamOn)]
    if len(found) > 1:
        message = "there is a second ON clause"
        raise InvalidPatternError(message, found[1].location, hint="keep one")
    return found[0] if found else None


def bind_window(on: graph_ast.StreamOn) -> StreamWindow:
    """Return the window that `ON stream WINDOW(…)` states.

    Raises:
        InvalidPatternError: an amount or unit of time is wrong, or NOW has a slide or is internal; with its place.
    """
    require_text(on.stream)
    stream = StreamName(on.stream.text)
    slide = None if on.slide is None else bind_spelled_time(on.slide, "a slide")
    if on.length is None:
        if slide is not None or on.is_internal:
            message = f"NOW takes no {'SLIDE' if slide is not None else 'INTERNAL'}: an edge is valid only in its own instant"
            raise InvalidPatternError(message, on.location, hint=f"ON {on.stream.text} WINDOW(NOW)")
        return StreamWindow(stream, Duration(1), None, WindowKind.NOW, on.location)
    kind = WindowKind.INTERNAL if on.is_internal else WindowKind.EXTERNAL
    return StreamWindow(stream, bind_spelled_time(on.length, "a window"), slide, kind, on.location)


class Inputs:
    """The inputs so far, in the order of their first use; equal inputs are one."""

    def __init__(self, taken: Iterable[str]) -> None:
        """Take the names that inputs must not use."""
        self._taken = set(taken)
        self._found: dict[tuple[object, ...], Input] = {}

    @property
    def all(self) -> tuple[Input, ...]:
        """All inputs so far."""
        return tuple(self._found.values())

    def name_of(
        self,
        window: StreamWindow,
        label: str | None,
        source_label: str | None = None,
        target_label: str | None = None,
        conditions: tuple[Expression, ...] = (),
    ) -> str:
        """Return the name of the input of these edges: their label, if that name is free."""
        # Constants of different types may be equal in Python, but are different conditions.
        key = (window, label, source_label, target_label, repr(conditions))
        if key not in self._found:
            name = self.fresh(UNLABELLED if label is None else label)
            self._found[key] = Input(name, window, label, source_label, target_label, conditions)
        return self._found[key].name

    def fresh(self, stem: str) -> str:
        """Reserve a name: the stem, or the stem with a number."""
        spelled = (stem if number == 1 else f"{stem}_{number}" for number in count(1))
        name = next(each for each in spelled if each not in self._taken)
        self._taken.add(name)
        return name
