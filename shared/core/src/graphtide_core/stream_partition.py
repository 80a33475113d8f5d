"""How a stream is divided into parts: the model of `PARTITION BY` in a `STREAM` statement.

Each part has its own order and its own time. The key must be something that edges and events have. Only then can it follow
from a pattern that the records of its matches are in one part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.part_key import BY_VERTEX, PartKey, check_parts
from graphtide_core.record_expression import FieldPath, reads_a_field
from graphtide_core.stream_joins import joined_paths
from graphtide_core.suggestion import show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.record_expression import RecordExpression
    from graphtide_core.stream_definition import EdgeClause, EventClause, StreamDefinition
    from graphtide_core.stream_emissions import Emission
    from graphtide_core.stream_windows import StreamWindows


@dataclass(frozen=True, slots=True)
class Partition:
    """`PARTITION BY value PARTS n`, or `PARTITION BY VERTEX PARTS n`.

    Attributes:
        by: the key of a record; None for the vertices of an edge, which goes to the parts of both its ends.
        parts: how many there are.
    """

    by: RecordExpression | None
    parts: int = 1

    def __post_init__(self) -> None:
        """Refuse a key that is the same for every record, and a number of parts that a stream cannot have."""
        check_parts(self.parts)
        if self.by is not None and not reads_a_field(self.by):
            message = "PARTITION BY is a constant, the same for every record"
            raise InvalidPatternError(message, hint="name a field: PARTITION BY tenant")


def part_key(definition: StreamDefinition) -> PartKey | None:
    """Return the key of a stream in parts as patterns read it; None for a stream without PARTITION BY.

    Raises:
        InvalidPatternError: as `check_partition`.
    Complexity: O(size of the definition).
    """
    partition = definition.partition
    if partition is None:
        return None
    if partition.by is None:
        return BY_VERTEX
    shared = None
    for clause in definition.clauses or (None,):
        names = list(_names(definition, clause, partition.by))
        shared = names if shared is None else [name for name in shared if name in names]
    if not shared:
        message = "no end and no attribute that every edge and event has is the value of PARTITION BY"
        raise InvalidPatternError(message, hint="name the source or the target, or state it as an attribute: SET tenant = …")
    return PartKey(shared[0])


def _names(definition: StreamDefinition, clause: EdgeClause | EventClause | None, by: RecordExpression) -> Iterator[str]:
    """Yield the fields and attributes that have the value in what a clause gives; without clauses in the record itself."""
    own = () if clause is None else clause.sets
    replaced = {each.name for each in own}
    joined = tuple(each for join in definition.joins for each in join.sets)
    sets = (*own, *(each for each in definition.sets if each.name not in replaced))
    if clause is not None:
        for name, value in clause.values_of_fields():
            if value == by:
                yield name
    yield from (each.name for each in (*sets, *joined) if each.value == by)
    if not sets and isinstance(by, FieldPath) and by not in joined_paths(definition):
        yield str(by)


def check_partition(definition: StreamDefinition) -> None:
    """Check that parts can be matched by themselves.

    Raises:
        InvalidPatternError: the key is nothing that edges and events have, events are divided by vertex, or a feature or EMIT
            counts records of several parts.
    """
    key = part_key(definition)
    if key is None:
        return
    if key.is_vertex and definition.clauses and any(clause.is_event for clause in definition.clauses):
        message = "PARTITION BY VERTEX divides edges, and an EVENT has no vertices"
        raise InvalidPatternError(message, hint="divide the stream by a field: PARTITION BY user")
    check_windows(definition.windows, key)


def check_windows(windows: StreamWindows, key: PartKey) -> None:
    """Check that what is counted of a stream is counted of each part by itself.

    Raises:
        InvalidPatternError: a feature or EMIT counts records of several parts.
    """
    for feature in windows.features:
        if key.is_vertex or key.field not in feature.keys:
            message = f"the feature {show(feature.name)} counts records of several parts: it is not PER {key}"
            hint = "divide the stream by the key of its features: PARTITION BY src … FEATURE n = count(*) PER src OVER 1m"
            raise InvalidPatternError(message, hint=hint)
    for emission in windows.emissions:
        if not _gives_key(emission, key):
            message = f"EMIT {show(emission.label)} counts records of several parts: what it gives has no {key} of theirs"
            hint = "divide the stream by its key: PARTITION BY src … EMIT EDGE (src)-[:burst]->(dst) EVERY 1m"
            raise InvalidPatternError(message, hint=hint)


def _gives_key(emission: Emission, key: PartKey) -> bool:
    """Return whether what an EMIT gives has the key of its records, by the name that records have it by."""
    if key.is_vertex:
        return False
    ends = {} if emission.ends is None else dict(zip(("src", "dst"), emission.ends, strict=True))
    if key.field in ends:
        return ends[key.field].name == key.field
    return any(each.of == each.name == key.field for each in emission.keys)
