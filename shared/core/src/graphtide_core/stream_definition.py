"""What a record of a stream means: the model of a `STREAM` statement.

A definition says how bytes become records, and which edges and events a record gives, at which time, under which id and with
which attributes. What can be checked without data is checked here; errors have no place, which the language adds.

A statement without EDGE and EVENT leaves records as they are: with the fields `ts`, `src`, `dst`, `label`, … of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.predicate import EVENT_FIELDS, RECORD_FIELDS, Literal
from graphtide_core.record_expression import WITHOUT_QUOTATION, FieldPath, ItemWhere, field_paths, named_zones, reads_a_field
from graphtide_core.record_format import NESTING
from graphtide_core.record_time import RecordTime
from graphtide_core.stream_emissions import check_emissions
from graphtide_core.stream_features import check_features
from graphtide_core.stream_joins import check_joins
from graphtide_core.stream_partition import Partition, check_partition
from graphtide_core.stream_windows import StreamWindows
from graphtide_core.suggestion import show
from graphtide_core.time import MAX_EVENT_TIME, TimeUnit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_core.duplicate_policy import DuplicatePolicy
    from graphtide_core.ids import StreamName
    from graphtide_core.record_expression import RecordExpression
    from graphtide_core.record_format import RecordFormat
    from graphtide_core.stream_emissions import Emission
    from graphtide_core.stream_features import Feature
    from graphtide_core.stream_joins import Join, ReferenceTable
    from graphtide_core.time import Duration

DEFAULT_LABEL: Final = "edge"
"""The label of edges that have none."""

MOST_CLAUSES: Final = 64
"""Edges and events that a record gives."""

MOST_SET: Final = 1_000
"""Attributes that one SET states."""

MOST_NULLS: Final = 1_000
"""Texts that NULL lists."""

RESERVED_FOR_EDGES: Final = RECORD_FIELDS | {"op"}
RESERVED_FOR_EVENTS: Final = EVENT_FIELDS | {"op"}
"""Names that an attribute cannot have, because patterns read the record's own fields by them."""


class StreamClock(Enum):
    """What moves a stream's time when no record comes."""

    DATA = "data"
    LIVE = "live"


@dataclass(frozen=True, slots=True)
class SetAttribute:
    """`SET name = value`."""

    name: str
    value: RecordExpression


@dataclass(frozen=True, slots=True)
class LabelledEnd:
    """`(value:label)`: an end of an edge; without a label it states none."""

    value: RecordExpression
    label: RecordExpression | None = None


@dataclass(frozen=True, slots=True)
class EdgeClause:
    """`EDGE (source:label)-[label]->(target:label)`: an edge that a record gives if `where` is true.

    An edge whose label is not stated, or missing, has the `DEFAULT_LABEL`. `sets` add to those of the stream and replace those
    of the same name. `id` is in place of the stream's.
    """

    source: LabelledEnd
    target: LabelledEnd
    label: RecordExpression | None = None
    where: RecordExpression | None = None
    sets: tuple[SetAttribute, ...] = ()
    id: RecordExpression | None = None

    def __post_init__(self) -> None:
        """Refuse an edge that is between the same two vertices for every record, and an id that is the same."""
        if not reads_a_field(self.source.value) and not reads_a_field(self.target.value):
            message = "both ends of EDGE are constants, the same for every record"
            raise InvalidPatternError(message, hint=WITHOUT_QUOTATION)
        check_id(self.id)

    @property
    def is_event(self) -> bool:
        """False: it has two ends."""
        return False

    def values_of_fields(self) -> Iterator[tuple[str, RecordExpression]]:
        """Yield the fields of an edge that a record states, with their values."""
        yield "src", self.source.value
        yield "dst", self.target.value
        if self.label is not None:
            yield "label", self.label

    def expressions(self) -> Iterator[RecordExpression]:
        """Yield every expression over a record."""
        stated = (self.source.value, self.source.label, self.target.value, self.target.label, self.label, self.where, self.id)
        yield from (each for each in stated if each is not None)
        yield from (each.value for each in self.sets)


@dataclass(frozen=True, slots=True)
class EventClause:
    """`EVENT type`: an event that a record gives; the other members are those of an `EdgeClause`."""

    type: RecordExpression
    where: RecordExpression | None = None
    sets: tuple[SetAttribute, ...] = ()
    id: RecordExpression | None = None

    def __post_init__(self) -> None:
        """Refuse an id that is the same for every record."""
        check_id(self.id)

    @property
    def is_event(self) -> bool:
        """True: it has no ends."""
        return True

    def values_of_fields(self) -> Iterator[tuple[str, RecordExpression]]:
        """Yield the type, by the name that it has in an edge, too."""
        yield "label", self.type

    def expressions(self) -> Iterator[RecordExpression]:
        """Yield every expression over a record."""
        yield from (each for each in (self.type, self.where, self.id) if each is not None)
        yield from (each.value for each in self.sets)


def _read_ts() -> RecordTime:
    return RecordTime(FieldPath(("ts",)))


@dataclass(frozen=True, slots=True)
class StreamDefinition:
    """A `STREAM` statement.

    Attributes:
        name: of the stream.
        format: how bytes become records; None where the suffix of a file or the type of a body says it.
        clauses: the edges and events of a record, in the order of the text; none for records with fields of their own.
        time: of a record, and of all that it gives.
        unit: one tick of the stream.
        id: what identifies a record. If it gives several, each without an `id` of its own has the number of its clause as
            suffix: `uid#2`. None for ids that are made, or, without clauses, for the field `id`.
        sets: attributes of all that a record gives. Without any, here and in the clause, they are all fields, by their paths.
        where: which records are of this stream; others are filtered, and not rejected.
        delete_where: which records retract what the same ids gave.
        update_where: which records replace it.
        nulls: texts that are missing values.
        lateness: how long to wait for late records; None for the default of the place that runs it.
        duplicates: what an id that comes again means; None for the default.
        clock: None for the default.
        partition: what divides the stream into parts; None for a stream in one part.
        features: what is counted of its edges and events, in the order of the text.
        emissions: what edges and events are given for each window of time, in the order of the text.
        tables: that records are joined with.
        joins: with rows of these tables, in the order of the text.
    """

    name: StreamName
    format: RecordFormat | None = None
    clauses: tuple[EdgeClause | EventClause, ...] = ()
    time: RecordTime = field(default_factory=_read_ts)
    unit: TimeUnit = TimeUnit.MILLISECOND
    id: RecordExpression | None = None
    sets: tuple[SetAttribute, ...] = ()
    where: RecordExpression | None = None
    delete_where: RecordExpression | None = None
    update_where: RecordExpression | None = None
    nulls: tuple[str, ...] = ()
    lateness: Duration | None = None
    duplicates: DuplicatePolicy | None = None
    clock: StreamClock | None = None
    partition: Partition | None = None
    features: tuple[Feature, ...] = ()
    emissions: tuple[Emission, ...] = ()
    tables: tuple[ReferenceTable, ...] = ()
    joins: tuple[Join, ...] = ()

    def expressions(self) -> Iterator[RecordExpression]:
        """Yield every expression over a record and the rows that it is joined with, in the order of the attributes."""
        for clause in self.clauses:
            yield from clause.expressions()
        yield self.time.value
        yield from (each.value for each in self.sets)
        by = None if self.partition is None else self.partition.by
        stated = (self.id, self.where, self.delete_where, self.update_where, by)
        yield from (each for each in stated if each is not None)
        for join in self.joins:
            yield join.key
            yield from (each.value for each in join.sets)

    @property
    def windows(self) -> StreamWindows:
        """What is counted of it in windows."""
        return StreamWindows(self.features, self.emissions)

    def zones(self) -> frozenset[str]:
        """Return the zones of time that are named."""
        named = {zone for each in self.expressions() for zone in named_zones(each)}
        return frozenset(named if self.time.zone is None else named | {self.time.zone})

    def __post_init__(self) -> None:
        """Refuse what contradicts itself, and what is past a bound."""
        if not self.name:
            message = "the name is empty"
            raise InvalidPatternError(message)
        if len(self.clauses) > MOST_CLAUSES:
            message = f"a record gives at most {MOST_CLAUSES} edges and events"
            raise InvalidPatternError(message)
        self._check_sets()
        check_id(self.id)
        self._check_ids()
        check_nulls(self.nulls)
        check_features(self.features, self.stated_attributes(), self.unit)
        check_partition(self)
        check_emissions(self.emissions, {each.name for each in self.features}, stated_labels(self.clauses), self.unit)
        self._check_paths()
        check_joins(self)
        if self.lateness is not None:
            check_lateness(self.lateness, self.unit)

    def _check_sets(self) -> None:
        gives_edges = not self.clauses or any(isinstance(each, EdgeClause) for each in self.clauses)
        check_sets(self.sets, RESERVED_FOR_EDGES if gives_edges else RESERVED_FOR_EVENTS)
        for each in self.clauses:
            check_sets(each.sets, RESERVED_FOR_EDGES if isinstance(each, EdgeClause) else RESERVED_FOR_EVENTS)
        for join in self.joins:
            check_sets(join.sets, RESERVED_FOR_EDGES if gives_edges else RESERVED_FOR_EVENTS)

    def stated_attributes(self) -> Iterator[str]:
        """Yield the names that SET gives values, those of the clauses too."""
        for sets in (self.sets, *(each.sets for each in self.clauses), *(each.sets for each in self.joins)):
            yield from (each.name for each in sets)

    def _check_paths(self) -> None:
        paths = [path for each in self.expressions() for path in field_paths(each)]
        outer = max((path.outer for path in paths), default=0)
        stated = self.format
        unnest = None if stated is None else stated.unnest
        around = 0 if unnest is None else sum(isinstance(step, str) for step in unnest.steps)
        if outer > around:
            message = f"{'OUTER.' * outer}… reads {outer} objects around a record, and UNNEST goes through {around}"
            raise InvalidPatternError(message, hint="OUTER is what UNNEST took a record from: FORMAT json UNNEST Records")
        has_conditions = any(isinstance(step, ItemWhere) for path in paths for step in path.steps)
        if (outer or has_conditions) and stated is not None and stated.name not in NESTING:
            message = f"OUTER and conditions in paths read JSON, Avro and Protobuf, not {stated.name}"
            raise InvalidPatternError(message, hint="read fields by names and positions: a.b[0]")

    def _check_ids(self) -> None:
        lacking = self.id is None and any(each.id is None for each in self.clauses)
        needs = {
            "DELETE WHERE": self.delete_where is not None,
            "UPDATE WHERE": self.update_where is not None,
            "DUPLICATES": self.duplicates is not None,
        }
        for clause, is_stated in needs.items():
            if is_stated and lacking:
                message = f"{clause} needs ID: only a given id can come again"
                raise InvalidPatternError(message, hint="name the field that identifies a record: ID uid")


def stated_labels(clauses: Iterable[EdgeClause | EventClause]) -> frozenset[str]:
    """Return the labels and types that clauses state as constants."""
    stated = (each.label if isinstance(each, EdgeClause) else each.type for each in clauses)
    return frozenset(each.value for each in stated if isinstance(each, Literal) and isinstance(each.value, str))


def check_id(identity: RecordExpression | None) -> None:
    """Check an id.

    Raises:
        InvalidPatternError: it is the same for every record.
    """
    if identity is not None and not reads_a_field(identity):
        message = "ID is a constant, the same for every record"
        raise InvalidPatternError(message, hint=WITHOUT_QUOTATION)


def check_sets(sets: Iterable[SetAttribute], reserved: frozenset[str]) -> None:
    """Check the attributes of one SET.

    Raises:
        InvalidPatternError: a name is empty, reserved or stated twice, or there are too many.
    """
    seen: set[str] = set()
    for each in sets:
        if not each.name:
            message = "the name is empty"
            raise InvalidPatternError(message)
        if each.name in reserved:
            message = f"{show(each.name)} is a field of every record, and not a name for an attribute"
            raise InvalidPatternError(message, hint=f"give it another name: SET {each.name}_stated = {each.name}")
        if each.name in seen:
            message = f"SET states {show(each.name)} twice"
            raise InvalidPatternError(message)
        seen.add(each.name)
    if len(seen) > MOST_SET:
        message = f"a SET states at most {MOST_SET:,} attributes"
        raise InvalidPatternError(message)


def check_nulls(nulls: tuple[str, ...]) -> None:
    """Check the texts of NULL.

    Raises:
        InvalidPatternError: one is listed twice, or there are too many.
    """
    if len(nulls) > MOST_NULLS:
        message = f"NULL lists at most {MOST_NULLS:,} texts"
        raise InvalidPatternError(message)
    twice = next((each for place, each in enumerate(nulls) if each in nulls[:place]), None)
    if twice is not None:
        message = f"NULL lists {show(twice)} twice"
        raise InvalidPatternError(message)


def check_lateness(lateness: Duration, unit: TimeUnit) -> None:
    """Check a lateness; none at all is one.

    Raises:
        InvalidPatternError: it is shorter than a tick of the stream, or longer than times can be apart.
    """
    ticks = lateness.ticks(unit)
    if 0 < ticks < 1:
        message = f"LATENESS {lateness} is shorter than a tick of the stream, 1{unit.value}"
        raise InvalidPatternError(message, hint="state a finer UNIT, or a longer time")
    if ticks > MAX_EVENT_TIME:
        message = f"LATENESS {lateness} is longer than times can be apart: {MAX_EVENT_TIME} ticks"
        raise InvalidPatternError(message)
