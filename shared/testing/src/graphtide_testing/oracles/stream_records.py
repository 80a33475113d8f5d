"""What a STREAM statement makes of decoded records, the plain way: `graphtide_core.stream_definition` word by word.

A decoded record is what `json` makes of one: a dict with texts, integers of 64 bits, floating-point numbers, truth values,
None, lists and dicts. Decoding is not done here, nor what comes behind it: lateness, duplicates, clock and partitions.

Order of work: `NULL`, `WHERE`, the time, then deletion or update, then the edges and events in the order of the text. What the
statement leaves open is decided here.

* `NULL` compares texts alone, at any depth, before anything reads them.
* A path to nothing is missing, and so is one to a list or an object, also for `IS NULL`. Values of two kinds do not compare:
  the result is unknown, as in patterns (`oracles.predicates`), and so is a division by zero.
* A condition holds if it is true; an unknown one does not. A record of which no EDGE and no EVENT applies is filtered, too.
* A record is a dead letter as a whole. It lacks a time, or an EDGE that applies lacks an end, or an EVENT its type. So no part
  of it is in the stream. Ends, labels, types and ids that are numbers or truth values become texts, and an empty one is
  missing. A missing label is `edge`, and one of an end is absent. A field that a format writes as text, and that is one of them
  or the time by itself, is read as it is written. Such a field is `007` (`Written`).
* An id of an insert that is missing is made: the 0-based ordinal of the record, where filtered and rejected ones count. Made
  ids have suffixes as given ones, `17#2`, and the number of a clause counts all clauses from 1.
* A deletion gives one for each clause, whatever its WHERE, because a deleted record may lack what it asks. An update gives one
  for each clause, a deletion where its WHERE does not hold. Both need an id: without it, the record is a dead letter.
  `DELETE WHERE` goes before `UPDATE WHERE`.
* Without SET every text, number and truth value is an attribute, named by its path. Of several with one name the first that
  `paths_named` has counts, and no other path has a name. Names of the record's own fields are left out, because nothing can
  read them.
* Without EDGE and EVENT a record has fields of its own, as streams without a statement. It is an event if it has a `type` and
  none of `src`, `dst` and `label`. `op` says what it does, unless DELETE WHERE or UPDATE WHERE does.
* UNNEST takes the items of the list at its path, and of all lists on the way and of lists in lists. `null` is no record under a
  path. `OUTER` is the object that the last name of the path was read from, `OUTER.OUTER` that of the name before.
* JOIN adds rows to a record, of the time that it has (`oracles.stream_joins`): WHERE and all that follows reads their columns.
  One whose key reads `src` or `dst` is looked up for each EDGE and EVENT. Without SET, columns are no attributes by themselves.
* A condition in a path takes the first item that is an object whose field is the text; a text that `NULL` lists is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from graphtide_core.edge import Edge, Operation
from graphtide_core.event import Event
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.predicate import Literal, map_operands
from graphtide_core.record_expression import FieldPath, ItemWhere, paths_named
from graphtide_core.stream_definition import (
    DEFAULT_LABEL,
    RESERVED_FOR_EDGES,
    RESERVED_FOR_EVENTS,
    EdgeClause,
    EventClause,
    LabelledEnd,
)
from graphtide_core.time import EventTime

from graphtide_testing.oracles.predicates import evaluate
from graphtide_testing.oracles.record_texts import plain, write_text
from graphtide_testing.oracles.record_times import ticks_of
from graphtide_testing.oracles.stream_joins import TableRow, find_row, is_by_edge, is_column, key_for, with_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from graphtide_core.edge import Value
    from graphtide_core.predicate import Attribute
    from graphtide_core.record_expression import RecordExpression
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_core.stream_joins import ReferenceTable
    from graphtide_core.time import TimeUnit

    from graphtide_testing.oracles.stream_joins import Tables

_OWN_EDGE: Final = EdgeClause(
    LabelledEnd(FieldPath(("src",)), FieldPath(("src_label",))),
    LabelledEnd(FieldPath(("dst",)), FieldPath(("dst_label",))),
    FieldPath(("label",)),
)
_OWN_EVENT: Final = EventClause(FieldPath(("type",)))
_ID: Final = FieldPath(("id",))


class Change(Enum):
    """What a record does to the stream."""

    INSERT = "insert"
    DELETE = "delete"
    UPDATE = "update"
    """A deletion of the same id, and this insert."""


@dataclass(frozen=True, slots=True)
class GivenRecord:
    """An edge or event of a record; that of a deletion has its id and time alone."""

    change: Change
    record: Edge | Event


@dataclass(frozen=True, slots=True)
class RefusedRecord:
    """A dead letter, with its reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class FilteredRecord:
    """A record that is not of the stream."""


Outcome = tuple[GivenRecord, ...] | RefusedRecord | FilteredRecord


class _RefusedError(Exception):
    """The record is a dead letter; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Surrounded:
    """A record that was unnested, and the objects around it, the innermost first."""

    record: object
    around: tuple[dict[str, object], ...] = ()


def unnest(document: object, path: FieldPath | None) -> list[object]:
    """Return the records of a document: the items of a list, or of the lists at a path and on the way; else itself."""
    return [each.record for each in unnest_surrounded(document, path)]


def unnest_surrounded(document: object, path: FieldPath | None) -> list[Surrounded]:
    """Return the records of a document as `unnest` does, with what is around them."""
    found = [Surrounded(document)]
    for step in () if path is None else path.steps:
        if isinstance(step, int):
            lists = ((each.record, each.around) for each in found)
            found = [Surrounded(each[step], around) for each, around in lists if isinstance(each, list) and step < len(each)]
        else:
            objects = ((each.record, each.around) for each in _items(found))
            found = [
                Surrounded(each[step], (each, *around)) for each, around in objects if isinstance(each, dict) and step in each
            ]
    return [each for each in _items(found) if each.record is not None or path is None]


def read_stream(definition: StreamDefinition, records: Iterable[object], tables: Tables | None = None) -> list[Outcome]:
    """Return what becomes of each decoded record, in their order; tables that are not given have no rows."""
    return [_read_record(definition, record, ordinal, tables or {}) for ordinal, record in enumerate(records)]


def read_table(table: ReferenceTable, records: Iterable[object], unit: TimeUnit) -> list[TableRow]:
    """Return the rows that decoded records are.

    Raises:
        ValueError: one has no key or no time, or is no record.
    """
    rows = []
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            message = f"row {number} is not an object with fields"
            raise ValueError(message)  # noqa: TRY004 - a value that is read
        own = _drop_nulls(record, table.nulls)
        if table.where is not None and evaluate_record(table.where, own, unit) is not True:
            continue
        key, time = write_text(_read(own, FieldPath((table.key,)))), table.time
        since = None
        if time is not None:
            value = time.value
            read = _read(own, value) if isinstance(value, FieldPath) else evaluate_record(value, own, unit)
            since = ticks_of(read, time, unit)
        if not key:
            message = f"row {number} has no key"
            raise ValueError(message)
        rows.append(TableRow(key, since, {name: _read(own, FieldPath((name,))) for name in record if name}))
    return rows


def evaluate_record(expression: RecordExpression, record: object, unit: TimeUnit) -> Value:
    """Return the value of an expression over a record; None is missing or unknown."""

    def refuse(attribute: Attribute) -> Value:
        raise AssertionError(attribute)

    def fill(each: RecordExpression) -> RecordExpression:
        match each:
            case FieldPath():
                return Literal(plain(_read(record, each)))
            case Literal():
                return each
            case _:
                return map_operands(each, fill)

    return evaluate(fill(expression), refuse, None, unit)  # type: ignore[arg-type]  # nothing but constants is left


def _items(values: Iterable[Surrounded]) -> Iterator[Surrounded]:
    for value in values:
        if isinstance(value.record, list):
            yield from _items(Surrounded(each, value.around) for each in value.record)
        else:
            yield value


def _read(record: object, path: FieldPath) -> Value:
    if isinstance(record, Surrounded):
        whole = (record.record, *record.around)
        record = whole[path.outer] if path.outer < len(whole) else None
    elif path.outer:
        record = None
    for step in path.steps:
        if isinstance(step, int):
            record = record[step] if isinstance(record, list) and step < len(record) else None
        elif isinstance(step, ItemWhere):
            record = _first_item(record, step) if isinstance(record, list) else None
        else:
            record = record.get(step) if isinstance(record, dict) else None
    return record if isinstance(record, bool | int | float | str) else None


def _first_item(items: list[object], step: ItemWhere) -> object:
    return next((each for each in items if isinstance(each, dict) and each.get(step.field) == step.text), None)


def _drop_nulls(value: object, nulls: tuple[str, ...]) -> object:
    match value:
        case str():
            return None if value in nulls else value
        case list():
            return [_drop_nulls(each, nulls) for each in value]
        case dict():
            return {name: _drop_nulls(each, nulls) for name, each in value.items()}
        case _:
            return value


def _read_record(definition: StreamDefinition, decoded: object, ordinal: int, tables: Tables) -> Outcome:
    whole = decoded if isinstance(decoded, Surrounded) else Surrounded(decoded)
    if not isinstance(whole.record, dict):
        return RefusedRecord("not an object with fields")
    own, *around = (_drop_nulls(each, definition.nulls) for each in (whole.record, *whole.around))
    record = Surrounded(own, tuple(around))  # type: ignore[arg-type]  # objects stay objects
    reading = _Reading(definition, record, ordinal, tables).joined(None)
    if definition.where is not None and not reading.holds(definition.where):
        return FilteredRecord()
    try:
        given = reading.give()
    except _RefusedError as refused:
        return RefusedRecord(str(refused))
    return given or FilteredRecord()


@dataclass(frozen=True, slots=True)
class _Reading:
    """One record, the definition that reads it, and the rows that it is joined with."""

    definition: StreamDefinition
    record: Surrounded
    ordinal: int
    tables: Tables
    rows: Mapping[str, TableRow | None] = field(default_factory=dict)

    def joined(self, clause: EdgeClause | EventClause | None) -> _Reading:
        """Return the record with its rows, or with those of what a clause gives."""
        try:
            ts: int | None = self.ts()
        except ValueError:
            ts = None
        reading = replace(self, rows={})
        for join in self.definition.joins:
            found = None
            if clause is not None or not is_by_edge(self.definition, join.alias):
                key = reading.text(key_for(join.key, clause if self.definition.clauses else None))
                found = find_row(self.tables.get(join.table, []), key, ts)
            reading = replace(reading, rows={**reading.rows, join.alias: found})
        return reading

    def ts(self) -> int:
        time = self.definition.time
        read = _read(self.record, time.value) if isinstance(time.value, FieldPath) else self.value(time.value)
        return ticks_of(read, time, self.definition.unit)

    def holds(self, condition: RecordExpression | None) -> bool:
        return condition is None or self.value(condition) is True

    def value(self, expression: RecordExpression) -> Value:
        return evaluate_record(with_rows(expression, self.rows), self.record, self.definition.unit)

    def text(self, expression: RecordExpression | None) -> str | None:
        if isinstance(expression, FieldPath) and not is_column(expression, self.rows):
            return write_text(_read(self.record, expression)) or None
        return None if expression is None else write_text(self.value(expression)) or None

    def give(self) -> tuple[GivenRecord, ...]:
        try:
            ts = EventTime(self.ts())
        except ValueError as error:
            raise _RefusedError(str(error)) from None
        change, clauses = self.change(), self.clauses()
        given = []
        for number, clause in enumerate(clauses, 1):
            suffix = f"#{number}" if len(clauses) > 1 else ""
            own = self.joined(clause)
            applies = own.holds(clause.where)
            if change is Change.INSERT and not applies:
                continue
            identity = own.identity(clause, suffix)
            if change is not Change.INSERT and identity is None:
                message = f"no id, which {'a deletion' if change is Change.DELETE else 'an update'} needs"
                raise _RefusedError(message)
            made = EdgeId(f"{self.ordinal}{suffix}")
            if change is Change.DELETE or not applies:
                given.append(GivenRecord(Change.DELETE, _deletion(clause, identity or made, ts)))
            else:
                given.append(GivenRecord(change, own.insert(clause, identity, made, ts)))
        return tuple(given)

    def change(self) -> Change:
        definition = self.definition
        if definition.delete_where is not None and self.holds(definition.delete_where):
            return Change.DELETE
        if definition.update_where is not None and self.holds(definition.update_where):
            return Change.UPDATE
        if definition.clauses or definition.delete_where is not None or definition.update_where is not None:
            return Change.INSERT
        match self.value(FieldPath(("op",))):
            case None | "" | "insert":
                return Change.INSERT
            case "delete":
                return Change.DELETE
            case other:
                message = f"unknown operation {other!r}"
                raise _RefusedError(message)

    def clauses(self) -> tuple[EdgeClause | EventClause, ...]:
        if self.definition.clauses:
            return self.definition.clauses
        has = {name: self.value(FieldPath((name,))) is not None for name in ("type", "src", "dst", "label")}
        is_event = has["type"] and not (has["src"] or has["dst"] or has["label"])
        return (_OWN_EVENT if is_event else _OWN_EDGE,)

    def identity(self, clause: EdgeClause | EventClause, suffix: str) -> EdgeId | None:
        """Return the given id; None for one that is missing."""
        if clause.id is not None:
            own = self.text(clause.id)
            return None if own is None else EdgeId(own)
        stated = _ID if not self.definition.clauses and self.definition.id is None else self.definition.id
        text = self.text(stated)
        return None if text is None else EdgeId(text + suffix)

    def insert(self, clause: EdgeClause | EventClause, identity: EdgeId | None, made: EdgeId, ts: EventTime) -> Edge | Event:
        named = made if identity is None else identity
        if isinstance(clause, EventClause):
            kind = self.text(clause.type)
            if kind is None:
                message = "no type"
                raise _RefusedError(message)
            return Event(named, ts, kind, self.attributes(clause), made=identity is None)
        source, target = self.text(clause.source.value), self.text(clause.target.value)
        if source is None or target is None:
            message = "no source" if source is None else "no target"
            raise _RefusedError(message)
        label = self.text(clause.label)
        return Edge(
            named,
            ts,
            VertexId(source),
            VertexId(target),
            DEFAULT_LABEL if label is None else label,
            self.text(clause.source.label),
            self.text(clause.target.label),
            self.attributes(clause),
            made=identity is None,
        )

    def attributes(self, clause: EdgeClause | EventClause) -> Mapping[str, Value]:
        reserved = RESERVED_FOR_EDGES if isinstance(clause, EdgeClause) else RESERVED_FOR_EVENTS
        sets = (*self.definition.sets, *clause.sets)
        added = {each.name: self.value(each.value) for join in self.definition.joins for each in join.sets}
        if sets:
            stated = {each.name: self.value(each.value) for each in sets} | added
        else:
            fields = _all_fields(self.record.record)
            stated = {name: value for name, value in fields.items() if name not in reserved} | added
        return {name: value for name, value in stated.items() if value is not None}


def _deletion(clause: EdgeClause | EventClause, identity: EdgeId, ts: EventTime) -> Edge | Event:
    if isinstance(clause, EventClause):
        return Event(identity, ts, "", operation=Operation.DELETE)
    return Edge(identity, ts, VertexId(""), VertexId(""), "", operation=Operation.DELETE)


def _all_fields(record: object) -> dict[str, Value]:
    """Return every value in a record by the name of its path, in the order of the record."""
    found = {}
    for name in dict.fromkeys(_names("", record)):
        values = (_read(record, path) for path in paths_named(name))
        value = next((value for value in values if value is not None), None)
        if value is not None:
            found[name] = plain(value)
    return found


def _names(name: str, value: object) -> Iterator[str]:
    match value:
        case dict():
            for key, inner in value.items():
                if key:
                    yield from _names(f"{name}.{key}" if name else key, inner)
        case list() if name:
            for place, inner in enumerate(value):
                yield from _names(f"{name}[{place}]", inner)
        case _:
            yield name
