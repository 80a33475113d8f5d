"""Definitions of streams as JSON, for programs that read records and do not know the language.

The form is canonical. One definition has one line of JSON, with members in the order of the structs and without those that have
their default. Reading checks what the model checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, get_type_hints

import msgspec
from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_core.errors import InvalidPatternError, PoisonRecordError
from graphtide_core.ids import StreamName
from graphtide_core.part_key import MOST_PARTS
from graphtide_core.predicate import Aggregation
from graphtide_core.record_expression import FieldPath
from graphtide_core.record_format import RecordFormat
from graphtide_core.record_time import EpochUnit, RecordTime
from graphtide_core.stream_definition import (
    EdgeClause,
    EventClause,
    LabelledEnd,
    SetAttribute,
    StreamClock,
    StreamDefinition,
)
from graphtide_core.stream_emissions import Emission, EmittedEnd, EmittedKey, Summary
from graphtide_core.stream_features import Feature
from graphtide_core.stream_joins import Join, ReferenceTable
from graphtide_core.stream_partition import Partition
from graphtide_core.time import Duration, TimeUnit

from graphtide_wire.json_form import Name, decode, encode
from graphtide_wire.record_expressions import ExpressionForm, Step, expression_form, expression_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.record_expression import RecordExpression

Sets = tuple[tuple[str, ExpressionForm], ...]


if TYPE_CHECKING:
    FormatForm = msgspec.Struct
else:
    # A path is its steps; all else is as in the model.
    _OPTIONS = get_type_hints(RecordFormat, localns={"FieldPath": tuple[Step, ...]}, include_extras=True)
    FormatForm = msgspec.defstruct(
        "FormatForm",
        [(name, hint) if name == "name" else (name, hint, None) for name, hint in _OPTIONS.items()],
        frozen=True,
        omit_defaults=True,
        namespace={"__doc__": "A format and its options; see `RecordFormat`."},
    )


class EndForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """An end of an edge."""

    value: ExpressionForm
    label: ExpressionForm | None = None


class EdgeForm(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="gives", tag="edge"):
    """An EDGE clause; `sets` has names and values in the order of the text."""

    source: EndForm
    target: EndForm
    label: ExpressionForm | None = None
    where: ExpressionForm | None = None
    sets: Sets = ()
    id: ExpressionForm | None = None


class EventForm(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="gives", tag="event"):
    """An EVENT clause."""

    type: ExpressionForm
    where: ExpressionForm | None = None
    sets: Sets = ()
    id: ExpressionForm | None = None


class TimeForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """An AT clause."""

    value: ExpressionForm
    unit: Literal["s", "ms", "us", "ns", "auto"] | None = None
    format: str | None = None
    zone: str | None = None
    before: str | None = None


class FeatureForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """A FEATURE clause; see `Feature`. Lengths of windows are durations as text, `10m`."""

    name: Name
    function: Literal["count", "sum", "avg", "min", "max", "last"]
    over: str
    of: str | None = None
    is_distinct: bool = False
    keys: tuple[str, ...] = ()
    against: str | None = None
    excludes_current: bool = False
    where: ExpressionForm | None = None


class SummaryForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """An attribute that SET of an EMIT clause states; see `Summary`."""

    name: Name
    function: Literal["count", "sum", "avg", "min", "max", "last"]
    of: str | None = None
    is_distinct: bool = False


class EmittedEndForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """An end of emitted edges: the attribute or field that has it."""

    name: Name
    label: str | None = None


class EmittedKeyForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of the key of what is emitted; `name` is that of its attribute if it is another."""

    of: Name
    name: Name | None = None


class EmissionForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """An EMIT clause; see `Emission`. `every` is a duration as text, `1m`; without `ends` it gives events."""

    label: Name
    every: str
    ends: tuple[EmittedEndForm, EmittedEndForm] | None = None
    keys: tuple[EmittedKeyForm, ...] = ()
    sets: tuple[SummaryForm, ...] = ()
    where: ExpressionForm | None = None
    having: ExpressionForm | None = None


class TableForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reference table; see `ReferenceTable`. `reload` is a duration as text, `5m`."""

    name: Name
    file: Name
    key: Name
    format: FormatForm | None = None
    time: TimeForm | None = None
    where: ExpressionForm | None = None
    nulls: tuple[str, ...] = ()
    reload: str | None = None


class JoinForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """A JOIN clause; see `Join`. `alias` is there if it is not the name of the table."""

    table: Name
    key: ExpressionForm
    alias: Name | None = None
    sets: Sets = ()


class DefinitionForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """A definition; see `StreamDefinition`. `lateness` is a duration as text, `30s`."""

    name: Name
    time: TimeForm
    unit: Literal["s", "ms", "us", "ns"]
    format: FormatForm | None = None
    clauses: tuple[EdgeForm | EventForm, ...] = ()
    id: ExpressionForm | None = None
    sets: Sets = ()
    where: ExpressionForm | None = None
    delete_where: ExpressionForm | None = None
    update_where: ExpressionForm | None = None
    nulls: tuple[str, ...] = ()
    lateness: str | None = None
    duplicates: Literal["reject", "update", "error"] | None = None
    clock: Literal["data", "live"] | None = None
    partition_by: ExpressionForm | None = None
    by_vertex: bool = False
    parts: Annotated[int, msgspec.Meta(ge=1, le=MOST_PARTS)] = 1
    features: tuple[FeatureForm, ...] = ()
    emissions: tuple[EmissionForm, ...] = ()
    tables: tuple[TableForm, ...] = ()
    joins: tuple[JoinForm, ...] = ()


def encode_definition(definition: StreamDefinition) -> bytes:
    """Return a definition as one line of JSON."""
    return encode(form_of_definition(definition))


def decode_definition(value: bytes | None) -> StreamDefinition:
    """Return the definition that JSON holds.

    Raises:
        PoisonRecordError: the bytes are not JSON of this form, or the model refuses what they say.
    """
    what = "definition of a stream"
    form = decode(value, DefinitionForm, what)
    try:
        return definition_of(form)
    except (InvalidPatternError, ValueError, RecursionError) as error:
        reason = f"no {what}: {error}"
        raise PoisonRecordError(reason, value or b"") from error


def form_of_definition(definition: StreamDefinition) -> DefinitionForm:
    """Return a definition as JSON has it."""
    return DefinitionForm(
        name=definition.name,
        time=_write_time(definition.time),
        unit=definition.unit.value,
        format=None if definition.format is None else _write_format(definition.format),
        clauses=tuple(map(_write_clause, definition.clauses)),
        id=_write_any(definition.id),
        sets=_write_sets(definition.sets),
        where=_write_any(definition.where),
        delete_where=_write_any(definition.delete_where),
        update_where=_write_any(definition.update_where),
        nulls=definition.nulls,
        lateness=None if definition.lateness is None else str(definition.lateness),
        duplicates=definition.duplicates and definition.duplicates.value,
        clock=definition.clock and definition.clock.value,
        partition_by=None if definition.partition is None else _write_any(definition.partition.by),
        by_vertex=definition.partition is not None and definition.partition.by is None,
        parts=1 if definition.partition is None else definition.partition.parts,
        features=tuple(map(_write_feature, definition.features)),
        emissions=tuple(map(_write_emission, definition.emissions)),
        tables=tuple(map(_write_table, definition.tables)),
        joins=tuple(map(_write_join, definition.joins)),
    )


def definition_of(form: DefinitionForm) -> StreamDefinition:
    """Return the definition that a form is of.

    Raises:
        InvalidPatternError, ValueError, RecursionError: the model refuses what it says.
    """
    return StreamDefinition(
        name=StreamName(form.name),
        format=None if form.format is None else _read_format(form.format),
        clauses=tuple(map(_read_clause, form.clauses)),
        time=_read_time(form.time),
        unit=TimeUnit(form.unit),
        id=_read_any(form.id),
        sets=_read_sets(form.sets),
        where=_read_any(form.where),
        delete_where=_read_any(form.delete_where),
        update_where=_read_any(form.update_where),
        nulls=form.nulls,
        lateness=None if form.lateness is None else Duration.of(form.lateness),
        duplicates=None if form.duplicates is None else DuplicatePolicy(form.duplicates),
        clock=None if form.clock is None else StreamClock(form.clock),
        partition=_read_partition(form),
        features=tuple(map(_read_feature, form.features)),
        emissions=tuple(map(_read_emission, form.emissions)),
        tables=tuple(map(_read_table, form.tables)),
        joins=tuple(map(_read_join, form.joins)),
    )


def _write_time(time: RecordTime) -> TimeForm:
    return TimeForm(expression_form(time.value), time.unit and time.unit.value, time.format, time.zone, time.before)


def _read_time(form: TimeForm) -> RecordTime:
    unit = None if form.unit is None else EpochUnit(form.unit)
    return RecordTime(expression_of(form.value), unit, form.format, form.zone, form.before)


def _write_table(table: ReferenceTable) -> TableForm:
    return TableForm(
        name=table.name,
        file=table.file,
        key=table.key,
        format=None if table.format is None else _write_format(table.format),
        time=None if table.time is None else _write_time(table.time),
        where=_write_any(table.where),
        nulls=table.nulls,
        reload=None if table.reload is None else str(table.reload),
    )


def _read_table(form: TableForm) -> ReferenceTable:
    return ReferenceTable(
        name=form.name,
        file=form.file,
        key=form.key,
        format=None if form.format is None else _read_format(form.format),
        time=None if form.time is None else _read_time(form.time),
        where=_read_any(form.where),
        nulls=form.nulls,
        reload=None if form.reload is None else Duration.of(form.reload),
    )


def _write_join(join: Join) -> JoinForm:
    alias = None if join.alias == join.table else join.alias
    return JoinForm(join.table, expression_form(join.key), alias, _write_sets(join.sets))


def _read_join(form: JoinForm) -> Join:
    alias = form.table if form.alias is None else form.alias
    return Join(form.table, expression_of(form.key), alias, _read_sets(form.sets))


def _read_partition(form: DefinitionForm) -> Partition | None:
    if form.partition_by is not None:
        return Partition(_read_any(form.partition_by), form.parts)
    return Partition(None, form.parts) if form.by_vertex else None


def _write_format(stated: RecordFormat) -> FormatForm:
    options = {each: getattr(stated, each) for each in ("name", *stated.stated())}
    if stated.unnest is not None:
        options["unnest"] = stated.unnest.steps
    return msgspec.convert(options, FormatForm)


def _read_format(form: FormatForm) -> RecordFormat:
    options = msgspec.structs.asdict(form)
    if options["unnest"] is not None:
        options["unnest"] = FieldPath(options["unnest"])
    return RecordFormat(**options)


def _write_clause(clause: EdgeClause | EventClause) -> EdgeForm | EventForm:
    where, sets, identity = _write_any(clause.where), _write_sets(clause.sets), _write_any(clause.id)
    if isinstance(clause, EventClause):
        return EventForm(expression_form(clause.type), where, sets, identity)
    return EdgeForm(_write_end(clause.source), _write_end(clause.target), _write_any(clause.label), where, sets, identity)


def _read_clause(form: EdgeForm | EventForm) -> EdgeClause | EventClause:
    where, sets, identity = _read_any(form.where), _read_sets(form.sets), _read_any(form.id)
    if isinstance(form, EventForm):
        return EventClause(expression_of(form.type), where, sets, identity)
    return EdgeClause(_read_end(form.source), _read_end(form.target), _read_any(form.label), where, sets, identity)


def _write_feature(feature: Feature) -> FeatureForm:
    return FeatureForm(
        name=feature.name,
        function=feature.function.value,  # type: ignore[arg-type]  # the model refuses others
        over=str(feature.over),
        of=feature.of,
        is_distinct=feature.is_distinct,
        keys=feature.keys,
        against=None if feature.against is None else str(feature.against),
        excludes_current=feature.excludes_current,
        where=_write_any(feature.where),
    )


def _read_feature(form: FeatureForm) -> Feature:
    return Feature(
        form.name,
        Aggregation(form.function),
        Duration.of(form.over),
        form.of,
        form.is_distinct,
        form.keys,
        None if form.against is None else Duration.of(form.against),
        form.excludes_current,
        _read_any(form.where),
    )


def _write_emission(emission: Emission) -> EmissionForm:
    sets = (
        SummaryForm(each.name, each.function.value, each.of, each.is_distinct)  # type: ignore[arg-type]  # the model refuses others
        for each in emission.sets
    )
    ends = emission.ends
    return EmissionForm(
        label=emission.label,
        every=str(emission.every),
        ends=None if ends is None else (_write_emitted_end(ends[0]), _write_emitted_end(ends[1])),
        keys=tuple(EmittedKeyForm(each.of, None if each.name == each.of else each.name) for each in emission.keys),
        sets=tuple(sets),
        where=_write_any(emission.where),
        having=_write_any(emission.having),
    )


def _write_emitted_end(end: EmittedEnd) -> EmittedEndForm:
    return EmittedEndForm(end.name, end.label)


def _read_emission(form: EmissionForm) -> Emission:
    ends = form.ends
    return Emission(
        form.label,
        Duration.of(form.every),
        None if ends is None else (EmittedEnd(ends[0].name, ends[0].label), EmittedEnd(ends[1].name, ends[1].label)),
        tuple(EmittedKey(each.of, each.of if each.name is None else each.name) for each in form.keys),
        tuple(Summary(each.name, Aggregation(each.function), each.of, each.is_distinct) for each in form.sets),
        _read_any(form.where),
        _read_any(form.having),
    )


def _write_end(end: LabelledEnd) -> EndForm:
    return EndForm(expression_form(end.value), _write_any(end.label))


def _read_end(form: EndForm) -> LabelledEnd:
    return LabelledEnd(expression_of(form.value), _read_any(form.label))


def _write_sets(sets: Iterable[SetAttribute]) -> Sets:
    return tuple((each.name, expression_form(each.value)) for each in sets)


def _read_sets(sets: Sets) -> tuple[SetAttribute, ...]:
    return tuple(SetAttribute(name, expression_of(value)) for name, value in sets)


def _write_any(expression: RecordExpression | None) -> ExpressionForm | None:
    return None if expression is None else expression_form(expression)


def _read_any(form: ExpressionForm | None) -> RecordExpression | None:
    return None if form is None else expression_of(form)
