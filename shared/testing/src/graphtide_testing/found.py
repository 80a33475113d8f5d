"""Matches as plain values that tests can compare, hash and sort.

`SubgraphMatch` holds mappings, which cannot be hashed. `Found` says the same with sorted tuples, for matches of any source: an
oracle, an engine's objects or an engine's JSON Lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from graphtide_core.match import ComponentMatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphtide_core.match import Match
    from graphtide_core.returns import FieldValue

Named = tuple[tuple[str, str], ...]
"""A mapping from a pattern's names to data, as pairs sorted by name."""


@dataclass(frozen=True, slots=True, order=True)
class Found:
    """One reported match, extension or retraction.

    Of a component, names stand with each of their edges and vertices; `component` and `former` are ids, or empty. `fields` are
    in the order of the record.
    """

    detected_at: int
    kind: str
    match_id: str
    first_ts: int
    last_ts: int
    edges: Named
    vertices: Named
    component: str = ""
    former: tuple[str, ...] = ()
    is_component: bool = False
    fields: tuple[tuple[str, FieldValue], ...] = ()


class _Record(msgspec.Struct):
    match_id: str
    kind: str
    detected_at: int
    first_ts: int
    last_ts: int
    edges: dict[str, str | list[str]]
    vertices: dict[str, str | list[str]]
    component: str = ""
    merged: list[str] = []
    split_from: str = ""
    fields: dict[str, Any] = {}


def sort_pairs(mapping: Mapping[str, str | Sequence[str]]) -> Named:
    """Return the pairs of `mapping`, sorted; of a name with several, each."""
    return tuple(sorted((name, id) for name, ids in mapping.items() for id in ([ids] if isinstance(ids, str) else ids)))


def key(match: Match) -> Found:
    """Return what tests compare of a match."""
    component, former = "", list[str]()
    if isinstance(match, ComponentMatch):
        component = match.component or ""
        former = [*sorted(match.merged), *([match.split_from] if match.split_from else [])]
    return Found(
        detected_at=match.detected_at,
        kind=match.kind.value,
        match_id=match.match_id,
        first_ts=match.first_ts,
        last_ts=match.last_ts,
        edges=sort_pairs(match.edges),
        vertices=sort_pairs(match.vertices),
        component=component,
        former=tuple(former),
        is_component=isinstance(match, ComponentMatch),
        fields=tuple(match.fields.items()),
    )


def keys(matches: Iterable[Match]) -> list[Found]:
    """Return what tests compare of many matches, sorted; a match reported twice stands there twice."""
    return sorted(key(match) for match in matches)


def keys_in_json_lines(lines: str | bytes) -> list[Found]:
    """Read match records, one JSON object a line, and sort them; a match reported twice stands there twice.

    Raises:
        msgspec.ValidationError: a record lacks a field or has one of another type.
    """
    records = msgspec.json.Decoder(_Record).decode_lines(lines)
    return sorted(
        Found(
            detected_at=record.detected_at,
            kind=record.kind,
            match_id=record.match_id,
            first_ts=record.first_ts,
            last_ts=record.last_ts,
            edges=sort_pairs(record.edges),
            vertices=sort_pairs(record.vertices),
            component=record.component,
            former=(*sorted(record.merged), *([record.split_from] if record.split_from else [])),
            is_component=any(isinstance(ids, list) for ids in record.edges.values()),
            fields=tuple((name, tuple(of) if isinstance(of, list) else of) for name, of in record.fields.items()),
        )
        for record in records
    )
