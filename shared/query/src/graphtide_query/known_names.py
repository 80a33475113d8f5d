"""Patterns against the labels and attributes that a stream has had: what was never seen may be misspelt, and is told.

Cost: O(types of edges) once for a snapshot; then O(size of the pattern), and a look at all names for each that was not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.event_pattern import EventPattern
from graphtide_core.graph_query import GraphQuery
from graphtide_core.suggestion import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.statistics import StatisticsSnapshot


@dataclass(frozen=True, slots=True)
class AskedNames:
    """What a pattern names, each once, in their order: labels of its edges and of its vertices, attributes of its edges."""

    edges: tuple[str, ...] = ()
    vertices: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()

    @classmethod
    def of(cls, pattern: AnyPattern) -> AskedNames:
        """Return those of a pattern; types of events are labels of edges."""
        if isinstance(pattern, EventPattern):
            return cls(_named(event.type for event in pattern.events), attributes=pattern.attributes)
        if isinstance(pattern, GraphQuery):
            ends = (label for each in pattern.inputs for label in (each.source_label, each.target_label))
            return cls(_named(each.label for each in pattern.inputs), _named(ends), pattern.attributes)
        return cls(
            _named(edge.label for edge in pattern.edges),
            _named(vertex.label for vertex in pattern.vertices),
            pattern.attributes,
        )


@dataclass(frozen=True, slots=True)
class SeenNames:
    """The labels and attributes of a stream's last edges.

    Attributes:
        records: how many edges were looked at.
        edges: labels of edges.
        vertices: labels of vertices.
        attributes: of edges; None where nobody counted them.
    """

    records: int
    edges: frozenset[str]
    vertices: frozenset[str]
    attributes: frozenset[str] | None = None

    @classmethod
    def of(cls, snapshot: StatisticsSnapshot, attributes: Iterable[str] | None = None) -> SeenNames:
        """Return the labels of a snapshot, and the attributes that were counted with it."""
        ends = {end for each in snapshot.types for end in (each.source_label, each.target_label) if end is not None}
        labels = frozenset(each.label for each in snapshot.types)
        return cls(snapshot.edges, labels, frozenset(ends), None if attributes is None else frozenset(attributes))

    def lacking(self, asked: AskedNames) -> Iterator[str]:
        """Yield a sentence for each name that was not seen; none while nothing was, or some labels were not told apart."""
        if not self.records:
            return
        wanted = (
            []
            if "" in self.edges
            else [("edge of label", asked.edges, self.edges), ("vertex of label", asked.vertices, self.vertices)]
        )
        if self.attributes is not None:
            wanted.append(("edge with attribute", asked.attributes, self.attributes))
        for what, named, seen in wanted:
            for name in named:
                if name not in seen:
                    yield f"no {what} {name!r} among the last {self.records:,} edges{_hint(name, seen)}"


def lacking_stream(stream: str, seen: Collection[str]) -> str | None:
    """Return a sentence if nothing was seen of a stream, but of one that is called much the same."""
    hint = "" if stream in seen else _hint(stream, seen)
    return f"no edge of stream {stream!r} was seen{hint}" if hint else None


def _named(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name is not None))


def _hint(word: str, known: Iterable[str]) -> str:
    hint = did_you_mean(word, sorted(known))
    return f"; {hint}" if hint else ""
