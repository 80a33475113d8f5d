"""Check patterns against the labels and attributes seen on a stream: a name that was never seen may be misspelt.

Cost: O(types of edges) once for a snapshot; then O(size of the pattern), and a look at all names for each that was not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.suggestion import did_you_mean

from graphtide_query.families import family_of
from graphtide_query.known_attributes import attributes_as_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.statistics import StatisticsSnapshot


@dataclass(frozen=True, slots=True)
class AskedNames:
    """The names in a pattern, each once: labels of its edges and vertices, attributes of its edges.

    `as_texts` are the attributes that it compares only with texts. A pattern `of_events` has their types in place of labels.
    """

    edges: tuple[str, ...] = ()
    vertices: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    as_texts: tuple[str, ...] = ()
    of_events: bool = False

    @classmethod
    def of(cls, pattern: AnyPattern) -> AskedNames:
        """Return those of a pattern; types of events are labels of edges."""
        texts = tuple(sorted(attributes_as_texts(pattern)))
        family = family_of(pattern)
        edges, vertices = (_sort_names(each) for each in (family.edge_labels(pattern), family.vertex_labels(pattern)))
        return cls(edges, vertices, pattern.attributes, texts, bool(family.event_names(pattern)))


@dataclass(frozen=True, slots=True)
class SeenNames:
    """The labels and attributes of a stream's last edges.

    Attributes:
        records: the number of edges examined.
        edges: labels of edges.
        vertices: labels of vertices.
        attributes: of edges; None if they were not counted.
    """

    records: int
    edges: frozenset[str]
    vertices: frozenset[str]
    attributes: frozenset[str] | None = None

    @classmethod
    def of(cls, snapshot: StatisticsSnapshot, attributes: Iterable[str] | None = None, labels: Iterable[str] = ()) -> SeenNames:
        """Return the labels of a snapshot and of those before it, and the attributes that were counted with it."""
        before = frozenset(labels)
        ends = before | {end for each in snapshot.types for end in (each.source_label, each.target_label) if end is not None}
        labels = before | {each.label for each in snapshot.types}
        return cls(snapshot.edges, labels, frozenset(ends), None if attributes is None else frozenset(attributes))

    def lacking(self, asked: AskedNames, which: str = "last") -> Iterator[str]:
        """Yield a sentence for each name that was not seen; nothing if no edge was seen, or some labels were not counted apart.

        `which` of the stream's edges these are: the last ones, or the first.
        """
        if not self.records:
            return
        record, name_of = ("event", "type") if asked.of_events else ("edge", "label")
        wanted = (
            []
            if "" in self.edges
            else [(f"{record} of {name_of}", asked.edges, self.edges), ("vertex of label", asked.vertices, self.vertices)]
        )
        if self.attributes is not None:
            wanted.append((f"{record} with attribute", asked.attributes, self.attributes))
        for what, named, seen in wanted:
            for name in named:
                if name not in seen:
                    yield f"no {what} {name!r} among the {which} {self.records:,} {record}s{_hint(name, seen)}"


def notes(asked: AskedNames, seen: SeenNames | None, numbers: Container[str], which: str = "last") -> list[str]:
    """Return a sentence for each mismatch between a pattern and its stream: misspelt names, texts for numbers.

    `match`, `validate` and the services share this function.

    Args:
        asked: the names in a pattern of any family.
        seen: labels and attributes; None if they are unknown.
        numbers: attributes that are known to be numbers.
        which: of the stream's edges were seen.
    """
    compared = (name for name in asked.as_texts if name in numbers)
    return [
        *(seen.lacking(asked, which) if seen is not None else ()),
        *(
            f"attribute {name!r} is compared with a text, and its values are numbers: that is never true; write the number "
            "without quotes, or declare the attribute as string"
            for name in compared
        ),
    ]


def lacking_stream(stream: str, seen: Collection[str]) -> str | None:
    """Return a sentence if a stream was not seen, but one with a similar name was."""
    hint = "" if stream in seen else _hint(stream, seen)
    return f"no edge of stream {stream!r} was seen{hint}" if hint else None


def _sort_names(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name is not None))


def _hint(word: str, known: Iterable[str]) -> str:
    hint = did_you_mean(word, sorted(known))
    return f"; {hint}" if hint else ""
