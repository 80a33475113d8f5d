"""Types of a stream's attributes: what holds for a body of edges, and what its beginning shows.

What was declared holds for every edge. What edges showed before holds for CSV alone, which has no types: a column of texts
stays one. The rest is for information, and refuses nothing. Cost: the first edges of a body are read twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.errors import UnreadableStreamError
from graphtide_core.predicate import RECORD_FIELDS
from graphtide_native.decoders import Decoding, decoder_of
from graphtide_wire.stream_schema import LONGEST_ATTRIBUTE, merge, wider

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from graphtide_core.formats import StreamFormat
    from graphtide_wire.stream_schema import Kind

RECORD_COLUMNS: Final = RECORD_FIELDS | {"op"}

_LOOKED_AT: Final = 8
"""Edges of JSON that are looked at."""

_MOST_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class StreamTypes:
    """What is known of a stream's attributes.

    Attributes:
        declared: by a user: an edge with another value is refused.
        seen: in edges that came before.
        read: by registered patterns, whose types are kept first where there are too many attributes.
    """

    declared: Mapping[str, Kind] = field(default_factory=dict)
    seen: Mapping[str, Kind] = field(default_factory=dict)
    read: frozenset[str] = frozenset()

    @property
    def refusing(self) -> dict[str, str]:
        """What refuses edges."""
        return {name: kind for name, kind in self.declared.items() if kind != "any"}

    @property
    def of_csv(self) -> dict[str, str]:
        """What decides how a field of CSV is read."""
        texts = {name: "string" for name, kind in self.seen.items() if kind == "string" and name not in self.declared}
        return {**texts, **self.refusing}

    def know(self, names: Iterable[str]) -> bool:
        """Whether nothing is to be found out of these columns."""
        return all(name in self.declared or name in self.seen or name in RECORD_COLUMNS for name in names)


def seen_in_json(block: bytes, read: Collection[str] = ()) -> dict[str, Kind]:
    """Return the attributes of the first edges of a block of JSON Lines; of too many, those that patterns `read` first."""
    found: dict[str, Kind] = {}
    lines = block[:_MOST_BYTES].split(b"\n", _LOOKED_AT)
    # The last one may be cut.
    for line in lines[:-1] if len(lines) > 1 else lines:
        try:
            edge = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(edge, dict):
            nested = edge.pop("attributes", None)
            _note(found, [edge, nested] if isinstance(nested, dict) else [edge])
    return merge({}, found, read)


def seen_in_columns(
    format: StreamFormat,
    beginning: bytes,
    names: Sequence[str],
    columns: Mapping[str, str],
    types: Mapping[str, str],
    *,
    read: Collection[str] = (),
) -> dict[str, Kind]:
    """Return what the first fields of some columns below a header line are; `any` where they are missing.

    Of too many, those that patterns `read` come first.
    """
    fields = RECORD_COLUMNS.union(columns.values())
    attributes = [*merge({}, {name: "any" for name in names if name not in fields}, read)]
    decoder = decoder_of(format, Decoding(attributes=attributes, columns=columns, types=types))
    found: dict[str, Kind] = {}
    try:
        records = decoder.decode(beginning[:_MOST_BYTES]).to_records()
    except UnreadableStreamError:
        return found
    _note(found, [record["attributes"] for record in records])
    return {name: found.get(name, "any") for name in attributes if 0 < len(name) <= LONGEST_ATTRIBUTE}


def _note(found: dict[str, Kind], edges: Iterable[Mapping[str, object]]) -> None:
    for edge in edges:
        for name, value in edge.items():
            kind = _KINDS.get(type(value))
            if kind is None or name in RECORD_COLUMNS or not 0 < len(name) <= LONGEST_ATTRIBUTE:
                continue
            found[name] = wider(found.get(name, kind), kind)


_KINDS: Final[dict[type, Kind]] = {bool: "boolean", int: "integer", float: "number", str: "string"}
