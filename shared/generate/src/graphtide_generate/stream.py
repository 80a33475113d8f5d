"""Holds a generated stream with its ground truth, and collects the drafts that it is made from.

Invariant: records are numbered in the order of time after all of them are known, so ids rise with `ts`. Equal times keep the
order of drafting. Cost: O(n log n) for n records.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.edge import Edge
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.time import EventTime

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.edge import Value


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings of every generator: `records` of background, `planted` instances and `decoys` that nearly match.

    `swap_labels` swaps frequencies from the middle of the background on. The most frequent label is then as frequent as the
    rarest was before, the second as the second rarest, and so on. Equal recipes give equal streams.
    """

    seed: int = 1
    records: int = 10_000
    planted: int = 5
    decoys: int = 10
    swap_labels: bool = False

    @classmethod
    def of_nature(cls, seed: int, records: int) -> Recipe:
        """Return the recipe of a stream without planted instances."""
        return cls(seed, records, planted=0, decoys=0)

    def refuse_plants(self, kind: str) -> None:
        """Refuse what only kinds with planted instances can do.

        Raises:
            ValueError: something is to be planted, or labels are to swap.
        """
        if self.planted or self.decoys or self.swap_labels:
            message = f"{kind} holds what its nature brings: nothing is planted in it, and no labels swap"
            raise ValueError(message)

    def __post_init__(self) -> None:
        """Refuse negative counts.

        Raises:
            ValueError: a count is negative.
        """
        if min(self.records, self.planted, self.decoys) < 0:
            message = "records, planted and decoys cannot be negative"
            raise ValueError(message)


@dataclass(frozen=True, slots=True)
class Planted:
    """An instance that the pattern must find: data edges and vertices by their names in the pattern."""

    pattern: str
    edges: Mapping[str, EdgeId]
    vertices: Mapping[str, VertexId]


@dataclass(frozen=True, slots=True)
class Decoy:
    """A near miss that the pattern must not find, and the condition it breaks."""

    pattern: str
    flaw: str
    edges: Mapping[str, EdgeId]


@dataclass(frozen=True, slots=True)
class GeneratedStream:
    """Records in the order of time, what is hidden in them, and the text of a pattern.

    It finds exactly the planted instances; where nothing is planted, what the nature of the stream brings.
    """

    edges: tuple[Edge, ...]
    planted: tuple[Planted, ...]
    decoys: tuple[Decoy, ...]
    patterns: str


class Draft(NamedTuple):
    """A record that has no id yet."""

    ts: int
    source: str
    target: str
    label: str
    source_label: str
    target_label: str
    attributes: Mapping[str, Value]


@dataclass(slots=True)
class Drafts:
    """Collects records in any order of time; `finish` sorts and numbers them."""

    pattern: str
    _background: list[Draft] = field(default_factory=list)
    _planted: list[tuple[Mapping[str, Draft], Mapping[str, str]]] = field(default_factory=list)
    _decoys: list[tuple[Mapping[str, Draft], str]] = field(default_factory=list)

    def add(self, drafts: Iterable[Draft]) -> None:
        """Take background records."""
        self._background.extend(drafts)

    def plant(self, edges: Mapping[str, Draft], vertices: Mapping[str, str]) -> None:
        """Take an instance of the pattern."""
        self._planted.append((edges, vertices))

    def decoy(self, edges: Mapping[str, Draft], flaw: str) -> None:
        """Take a near miss, and what is wrong with it."""
        self._decoys.append((edges, flaw))

    def finish(self, prefix: str, patterns: str) -> GeneratedStream:
        """Sort everything by time and give ids `prefix` + number, with leading zeros to a common width of at least 6."""
        hidden = [draft for edges, _ in (*self._planted, *self._decoys) for draft in edges.values()]
        ordered = sorted([*self._background, *hidden], key=lambda draft: draft.ts)
        width = max(6, len(str(len(ordered))))
        ids = {id(draft): EdgeId(f"{prefix}{number:0{width}d}") for number, draft in enumerate(ordered)}

        def named(edges: Mapping[str, Draft]) -> dict[str, EdgeId]:
            return {name: ids[id(draft)] for name, draft in edges.items()}

        return GeneratedStream(
            edges=tuple(_edge(ids[id(draft)], draft) for draft in ordered),
            planted=tuple(
                Planted(self.pattern, named(edges), {name: VertexId(vertex) for name, vertex in vertices.items()})
                for edges, vertices in self._planted
            ),
            decoys=tuple(Decoy(self.pattern, flaw, named(edges)) for edges, flaw in self._decoys),
            patterns=patterns,
        )


def _edge(identity: EdgeId, draft: Draft) -> Edge:
    return Edge(
        identity,
        EventTime(draft.ts),
        VertexId(draft.source),
        VertexId(draft.target),
        draft.label,
        draft.source_label,
        draft.target_label,
        draft.attributes,
    )
