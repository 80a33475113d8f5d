"""Check views among queries: others may read the stream of a view, and no view may depend on itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.graph_query import GraphQuery
from graphtide_core.suggestion import show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.stream_window import StreamWindow


def refuse_view_cycles(patterns: Iterable[AnyPattern]) -> None:
    """Check that no view reads its own stream, directly or through other views.

    Raises:
        InvalidPatternError: one does; at the place where the last view of the cycle reads the first.
    Complexity: linear in views and their inputs.
    """
    # Only graph queries have views, and the language, which checks each text, is below the families.
    views = {str(each.name): each for each in patterns if isinstance(each, GraphQuery) and each.is_view}
    settled: set[str] = set()
    for name in views:
        if name not in settled:
            _follow(name, views, settled)


def _follow(start: str, views: dict[str, GraphQuery], settled: set[str]) -> None:
    """Walk from a view to those that it reads; none of `settled` leads to a cycle."""
    way = {start: None}
    waiting = [iter(_read(views[start]))]
    while way:
        window = next(waiting[-1], None)
        if window is None:
            settled.add(way.popitem()[0])
            waiting.pop()
            continue
        read = str(window.stream)
        if read in way:
            circle = list(way)
            cycle = " reads ".join(map(show, [*circle[circle.index(read) :], read]))
            message = f"views depend on each other in a circle: {cycle}"
            hint = "a view reads streams, and views that do not read it"
            raise InvalidPatternError(message, window.location, hint=hint)
        if read in views and read not in settled:
            way[read] = None
            waiting.append(iter(_read(views[read])))


def _read(view: GraphQuery) -> list[StreamWindow]:
    return list({each.window.stream: each.window for each in view.inputs}.values())
