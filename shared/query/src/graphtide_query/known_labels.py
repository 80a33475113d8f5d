"""Patterns against the labels that a stream has had: what was never seen may be misspelt, and is told, not refused.

Cost: O(types of edges) once for a snapshot; then O(size of the pattern), and a look at all labels for each that was not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_query.language.diagnostics import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.statistics import StatisticsSnapshot


@dataclass(frozen=True, slots=True)
class AskedLabels:
    """The labels that a pattern names, each once, in their order: of its edges and of its vertices."""

    edges: tuple[str, ...]
    vertices: tuple[str, ...]

    @classmethod
    def of(cls, pattern: SubgraphPattern) -> AskedLabels:
        """Return those of a pattern."""
        return cls(_named(edge.label for edge in pattern.edges), _named(vertex.label for vertex in pattern.vertices))


@dataclass(frozen=True, slots=True)
class SeenLabels:
    """The labels of a stream's last edges.

    Attributes:
        records: how many edges were looked at.
        edges: labels of edges.
        vertices: labels of vertices.
    """

    records: int
    edges: frozenset[str]
    vertices: frozenset[str]

    @classmethod
    def of(cls, snapshot: StatisticsSnapshot) -> SeenLabels:
        """Return those of a snapshot."""
        ends = {end for each in snapshot.types for end in (each.source_label, each.target_label) if end is not None}
        return cls(snapshot.edges, frozenset(each.label for each in snapshot.types), frozenset(ends))

    def lacking(self, asked: AskedLabels) -> Iterator[str]:
        """Yield a sentence for each label that was not seen; none while nothing was, or some labels were not told apart."""
        if not self.records or "" in self.edges:
            return
        for what, named, seen in (("edge", asked.edges, self.edges), ("vertex", asked.vertices, self.vertices)):
            for label in named:
                if label not in seen:
                    yield f"no {what} of label {label!r} among the last {self.records:,} edges{_hint(label, seen)}"


def lacking_stream(stream: str, seen: Collection[str]) -> str | None:
    """Return a sentence if nothing was seen of a stream, but of one that is called much the same."""
    hint = "" if stream in seen else _hint(stream, seen)
    return f"no edge of stream {stream!r} was seen{hint}" if hint else None


def _named(labels: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label for label in labels if label is not None))


def _hint(word: str, known: Iterable[str]) -> str:
    hint = did_you_mean(word, sorted(known))
    return f"; {hint}" if hint else ""
