"""Bind the nodes of a STREAM statement to its definition, and check every rule of the language at its place."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeVar

from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_core.errors import InvalidPatternError
from graphtide_core.ids import StreamName
from graphtide_core.part_key import check_parts
from graphtide_core.record_time import SYSLOG, EpochUnit, RecordTime
from graphtide_core.stream_definition import (
    MOST_CLAUSES,
    RESERVED_FOR_EDGES,
    RESERVED_FOR_EVENTS,
    EdgeClause,
    EventClause,
    LabelledEnd,
    SetAttribute,
    StreamClock,
    StreamDefinition,
    check_id,
    check_lateness,
    check_nulls,
    check_sets,
    stated_labels,
)
from graphtide_core.stream_emissions import MOST_EMISSIONS
from graphtide_core.stream_features import MOST_FEATURES
from graphtide_core.stream_partition import Partition
from graphtide_core.suggestion import did_you_mean, show
from graphtide_core.time import DURATION_UNITS, Duration, TimeUnit

from graphtide_query.language import ast, stream_ast
from graphtide_query.language.clauses import bind_time, place_errors, require_text
from graphtide_query.language.emission_binder import EmitClause, bind_emissions
from graphtide_query.language.feature_binder import bind_features
from graphtide_query.language.join_binder import JoinClause, Reading, bind_joins, check_readings
from graphtide_query.language.known_zones import refuse_unknown_zone
from graphtide_query.language.record_expressions import bind_record, place_of
from graphtide_query.language.spelling import MAX_INTEGER, beyond_64_bits
from graphtide_query.language.stream_formats import bind_format

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from enum import Enum

    from graphtide_core.errors import Location
    from graphtide_core.record_expression import RecordExpression
    from graphtide_core.stream_joins import ReferenceTable

    from graphtide_query.language.stream_ast import StreamClause, TableClause

_C = TypeVar("_C")
_E = TypeVar("_E", bound="Enum")

_KEYWORDS: Final[Mapping[type, tuple[str, str]]] = {
    stream_ast.FormatNode: ("FORMAT", "list the options of the format behind its name"),
    stream_ast.TimeNode: ("AT", "a record has one time; for one of several fields, write AT coalesce(a, b)"),
    stream_ast.TimeFormatNode: ("FORMAT '…'", "times of a stream have one format"),
    stream_ast.ZoneNode: ("ZONE", "keep one"),
    stream_ast.BeforeNode: ("BEFORE", "keep one"),
    stream_ast.UnitNode: ("UNIT", "keep one"),
    stream_ast.IdNode: ("ID", "for an id of several fields, write ID concat(a, '-', b)"),
    stream_ast.SetNode: ("SET", "separate attributes by commas: SET a = x, b = y"),
    stream_ast.FilterNode: ("WHERE", "join the conditions by AND"),
    stream_ast.HavingNode: ("HAVING", "join the conditions by AND"),
    stream_ast.DeleteNode: ("DELETE WHERE", "join the conditions by OR"),
    stream_ast.UpdateNode: ("UPDATE WHERE", "join the conditions by OR"),
    stream_ast.NullNode: ("NULL", "separate texts by commas: NULL '-', 'NA'"),
    stream_ast.LatenessNode: ("LATENESS", "keep one"),
    stream_ast.DuplicatesNode: ("DUPLICATES", "keep one"),
    stream_ast.ClockNode: ("CLOCK", "keep one"),
    stream_ast.KeyNode: ("KEY", "keep one"),
    stream_ast.ReloadNode: ("RELOAD", "keep one"),
    stream_ast.PartitionNode: ("PARTITION BY", "for several fields, write PARTITION BY concat(a, '-', b)"),
}
"""The keyword of each clause, and what to do about a second one."""

_OWN: Final = (
    "; one of the whole stream comes before the first EDGE, EVENT, JOIN, FEATURE or EMIT, or behind a clause such as AT"
)


@dataclass(slots=True)
class ClauseScope:
    """The clauses of the stream, or those of an EDGE or EVENT, by their kind."""

    of: str
    hint: str = ""
    clauses: dict[type, StreamClause | TableClause] = field(default_factory=dict)

    def add(self, clause: StreamClause | TableClause) -> None:
        """Add a clause.

        Raises:
            InvalidPatternError: there is one of its kind; at the second.
        """
        keyword, hint = _KEYWORDS[type(clause)]
        if type(clause) in self.clauses:
            message = f"{self.of} has a second {keyword} clause"
            raise InvalidPatternError(message, clause.location, hint=hint + self.hint)
        self.clauses[type(clause)] = clause

    def get(self, kind: type[_C]) -> _C | None:
        """Return the clause of a kind, if there is one."""
        found = self.clauses.get(kind)
        return found if isinstance(found, kind) else None


def refuse_second_streams(streams: Iterable[tuple[ast.Name, StreamDefinition]]) -> None:
    """Check the names of a text's statements.

    Raises:
        InvalidPatternError: two statements have one name; at the second.
    """
    seen: set[str] = set()
    for name, _ in streams:
        if name.text in seen:
            message = f"the text has two STREAM statements named {show(name.text)}"
            raise InvalidPatternError(message, name.location, hint="a stream has one statement, with several EDGE clauses")
        seen.add(name.text)


def bind_stream(node: stream_ast.StreamNode, tables: Mapping[str, ReferenceTable]) -> StreamDefinition:
    """Return the definition that a statement states; `tables` are those of the text, by their names.

    Raises:
        InvalidPatternError: a clause is stated twice or contradicts another, or has an unknown name or a wrong value; with its
            place.
    Complexity: linear in the nodes.
    """
    require_text(node.name)
    found = _sort(node.clauses)
    whole, parts = found.whole, found.parts
    unit = _bind_unit(whole.get(stream_ast.UnitNode))
    gives_edges = not parts or any(isinstance(each, stream_ast.EdgeNode) for each, _ in parts)
    clauses = tuple(_bind_part(part, scope) for part, scope in parts)
    sets = _bind_sets(whole, RESERVED_FOR_EDGES if gives_edges else RESERVED_FOR_EVENTS)
    taken = [each.name for several in (sets, *(clause.sets for clause in clauses)) for each in several]
    join_clauses = found.join_clauses(RESERVED_FOR_EDGES if gives_edges else RESERVED_FOR_EVENTS)
    joins = bind_joins(join_clauses, tables, taken)
    check_readings(join_clauses, joins, found.readings(), has_clauses=bool(parts))
    taken += [each.name for join in joins for each in join.sets]
    feature_nodes = [(each, scope.get(stream_ast.FilterNode)) for each, scope in found.features]
    features = bind_features(feature_nodes, taken, unit)
    emissions = bind_emissions(found.emissions(), {each.name for each in features}, stated_labels(clauses), unit)
    with place_errors(_place_of_needs(whole, node.name)):
        definition = StreamDefinition(
            name=StreamName(node.name.text),
            format=None if (stated := whole.get(stream_ast.FormatNode)) is None else bind_format(stated),
            clauses=clauses,
            unit=unit,
            id=_bind_id(whole),
            sets=sets,
            where=bind_value(whole.get(stream_ast.FilterNode)),
            delete_where=bind_value(whole.get(stream_ast.DeleteNode)),
            update_where=bind_value(whole.get(stream_ast.UpdateNode)),
            nulls=bind_nulls(whole.get(stream_ast.NullNode)),
            lateness=_bind_lateness(whole.get(stream_ast.LatenessNode), unit),
            duplicates=_bind_duplicates(whole.get(stream_ast.DuplicatesNode)),
            clock=_bind_clock(whole.get(stream_ast.ClockNode)),
            partition=None,
            features=features,
            emissions=emissions,
            tables=tuple(table for name, table in tables.items() if any(join.table == name for join in joins)),
            joins=joins,
            **bind_record_time(whole),
        )
    return _divide(definition, whole.get(stream_ast.PartitionNode))


_Part = stream_ast.EdgeNode | stream_ast.EventNode


@dataclass(slots=True)
class _Sorted:
    """The clauses of the stream, of each EDGE and EVENT, and of each FEATURE and EMIT."""

    whole: ClauseScope = field(default_factory=lambda: ClauseScope("the stream"))
    parts: list[tuple[_Part, ClauseScope]] = field(default_factory=list)
    features: list[tuple[stream_ast.FeatureNode, ClauseScope]] = field(default_factory=list)
    emits: list[tuple[stream_ast.EmitNode, ClauseScope]] = field(default_factory=list)
    joins: list[tuple[stream_ast.JoinNode, ClauseScope]] = field(default_factory=list)

    def emissions(self) -> list[EmitClause]:
        return [
            EmitClause(each, scope.get(stream_ast.SetNode), scope.get(stream_ast.FilterNode), scope.get(stream_ast.HavingNode))
            for each, scope in self.emits
        ]

    def join_clauses(self, reserved: frozenset[str]) -> list[JoinClause]:
        return [JoinClause(each, scope.get(stream_ast.SetNode), _bind_sets(scope, reserved)) for each, scope in self.joins]

    def readings(self) -> Iterator[Reading]:
        """Yield what clauses read of records, but for the conditions of JOIN."""
        for kind, clause in self.whole.clauses.items():
            if isinstance(clause, stream_ast.TimeNode | stream_ast.ValueClause):
                yield Reading(clause.value, _KEYWORDS[kind][0], of_record=True)
        for part, scope in self.parts:
            yield from _readings_of(part)
            for clause in scope.clauses.values():
                if isinstance(clause, stream_ast.ValueClause):
                    yield Reading(clause.value, scope.of, of_record=False)
        for scope in (self.whole, *(scope for _, scope in (*self.parts, *self.joins))):
            for _, value in () if (stated := scope.get(stream_ast.SetNode)) is None else stated.values:
                if not isinstance(value, stream_ast.AggregateNode):
                    yield Reading(value, "SET", of_record=False)


def _readings_of(part: _Part) -> Iterator[Reading]:
    """Yield what an EDGE or EVENT reads by itself; what its ends and its type read must be known of the record."""
    if isinstance(part, stream_ast.EventNode):
        yield Reading(part.value, "EVENT", of_record=True)
        return
    for end in (part.source, part.target):
        yield Reading(end.value, "EDGE", of_record=True)
    for label in (part.label, part.source.label, part.target.label):
        if label is not None:
            yield Reading(label, "EDGE", of_record=False)


def _sort(clauses: Iterable[StreamClause]) -> _Sorted:
    """Sort clauses: WHERE, SET and ID right behind an EDGE or EVENT are its own, and so is a WHERE right behind a FEATURE.

    SET, WHERE and HAVING right behind an EMIT are its own, and so is a SET right behind a JOIN.
    """
    found = _Sorted()
    open_scope: ClauseScope | None = None
    own: tuple[type, ...] = ()
    for each in clauses:
        match each:
            case stream_ast.EdgeNode() | stream_ast.EventNode():
                if len(found.parts) == MOST_CLAUSES:
                    message = f"a record gives at most {MOST_CLAUSES} edges and events"
                    raise InvalidPatternError(message, each.location)
                open_scope = ClauseScope("EDGE" if isinstance(each, stream_ast.EdgeNode) else "EVENT", _OWN)
                own = (stream_ast.FilterNode, stream_ast.SetNode, stream_ast.IdNode)
                found.parts.append((each, open_scope))
            case stream_ast.FeatureNode():
                if len(found.features) == MOST_FEATURES:
                    message = f"a stream has at most {MOST_FEATURES} features"
                    raise InvalidPatternError(message, each.location)
                open_scope, own = ClauseScope("FEATURE", _OWN), (stream_ast.FilterNode,)
                found.features.append((each, open_scope))
            case stream_ast.EmitNode():
                if len(found.emits) == MOST_EMISSIONS:
                    message = f"a stream has at most {MOST_EMISSIONS} EMIT clauses"
                    raise InvalidPatternError(message, each.location)
                open_scope = ClauseScope("EMIT", _OWN)
                own = (stream_ast.SetNode, stream_ast.FilterNode, stream_ast.HavingNode)
                found.emits.append((each, open_scope))
            case stream_ast.JoinNode():
                open_scope, own = ClauseScope("JOIN", _OWN), (stream_ast.SetNode,)
                found.joins.append((each, open_scope))
            case _ if open_scope is not None and isinstance(each, own):
                open_scope.add(each)
            case stream_ast.HavingNode():
                message = "HAVING is for what EMIT gives, and stands right behind it"
                raise InvalidPatternError(message, each.location, hint="a condition on records is WHERE")
            case _:
                open_scope = None
                found.whole.add(each)
    return found


def _place_of_needs(whole: ClauseScope, name: ast.Name) -> Location:
    """Return the place of a clause that may need an ID, the one thing that only the whole definition checks."""
    for kind in (stream_ast.DeleteNode, stream_ast.UpdateNode, stream_ast.DuplicatesNode):
        if kind in whole.clauses:
            return whole.clauses[kind].location
    return name.location


def _bind_part(part: _Part, own: ClauseScope) -> EdgeClause | EventClause:
    where, identity = bind_value(own.get(stream_ast.FilterNode)), _bind_id(own)
    if isinstance(part, stream_ast.EventNode):
        return EventClause(bind_record(part.value), where, _bind_sets(own, RESERVED_FOR_EVENTS), identity)
    label = None if part.label is None else bind_record(part.label)
    source, target = _bind_end(part.source), _bind_end(part.target)
    with place_errors(place_of(part.source.value)):
        return EdgeClause(source, target, label, where, _bind_sets(own, RESERVED_FOR_EDGES), identity)


def _bind_end(end: stream_ast.EndNode) -> LabelledEnd:
    return LabelledEnd(bind_record(end.value), None if end.label is None else bind_record(end.label))


def _bind_id(scope: ClauseScope) -> RecordExpression | None:
    found = scope.get(stream_ast.IdNode)
    if found is None:
        return None
    bound = bind_record(found.value)
    with place_errors(place_of(found.value)):
        check_id(bound)
    return bound


def bind_value(found: stream_ast.ValueClause | None) -> RecordExpression | None:
    """Return the expression of a clause; None without the clause."""
    return None if found is None else bind_record(found.value)


def _bind_sets(scope: ClauseScope, reserved: frozenset[str]) -> tuple[SetAttribute, ...]:
    found = scope.get(stream_ast.SetNode)
    if found is None:
        return ()
    bound: list[SetAttribute] = []
    names: set[str] = set()
    for name, value in found.values:
        if isinstance(value, stream_ast.AggregateNode):
            message = f"{show(value.function.text)} is over a window, and SET states values of one record"
            hint = "count in windows by FEATURE n = count(*) PER src OVER 1m, or behind EMIT"
            raise InvalidPatternError(message, value.function.location, hint=hint)
        one = SetAttribute(name.text, bind_record(value))
        with place_errors(name.location):
            check_sets((one,), reserved)
            if name.text in names:
                check_sets((one, one), reserved)
        names.add(name.text)
        bound.append(one)
    with place_errors(found.location):
        check_sets(bound, reserved)
    return tuple(bound)


def _bind_unit(found: stream_ast.UnitNode | None) -> TimeUnit:
    return TimeUnit.MILLISECOND if found is None else _choose(TimeUnit, found.choice, "unit of a stream")


def bind_record_time(whole: ClauseScope) -> dict[str, RecordTime]:
    """Return the time as an argument; none without AT, which leaves the field `ts`."""
    at, text, zone = whole.get(stream_ast.TimeNode), whole.get(stream_ast.TimeFormatNode), whole.get(stream_ast.ZoneNode)
    before = whole.get(stream_ast.BeforeNode)
    for alone in (text, zone, before):
        if at is None and alone is not None:
            keyword = _KEYWORDS[type(alone)][0]
            message = f"{keyword} needs AT, which says where the time of a record is"
            hint = "write AT ts FORMAT '%d/%m/%Y %H:%M' ZONE 'Europe/Berlin'; the format of records is a name: FORMAT csv"
            raise InvalidPatternError(message, alone.location, hint=hint)
    if at is None:
        return {}
    value = bind_record(at.value)
    unit = None if at.unit is None else _choose(EpochUnit, at.unit, "unit of times")
    with place_errors(place_of(at.value)):
        RecordTime(value)
    if zone is not None:
        with place_errors(zone.text.location):
            bound = RecordTime(value, zone=_text(zone.text))
            refuse_unknown_zone(_text(zone.text))
    form, clock, day = (None if node is None else _text(node.text) for node in (text, zone, before))
    if before is not None:
        with place_errors(before.text.location):
            RecordTime(value, format=SYSLOG, before=day)
    with place_errors(at.location if text is None else text.text.location):
        bound = RecordTime(value, unit, form, clock, day)
    return {"time": bound}


def bind_nulls(found: stream_ast.NullNode | None) -> tuple[str, ...]:
    """Return the texts that are missing values.

    Raises:
        InvalidPatternError: one is listed twice; with its place.
    """
    if found is None:
        return ()
    texts = tuple(map(_text, found.texts))
    if len(set(texts)) < len(texts):
        place = next(place for place, text in enumerate(texts) if text in texts[:place])
        with place_errors(found.texts[place].location):
            check_nulls(texts[: place + 1])
    with place_errors(found.location):
        check_nulls(texts)
    return texts


def _bind_lateness(found: stream_ast.LatenessNode | None, unit: TimeUnit) -> Duration | None:
    if found is None:
        return None
    amount, stated = found.time.amount, found.time.unit
    if amount.value == 0 and isinstance(amount.value, int):
        if stated is not None and stated.text not in DURATION_UNITS:
            return bind_time(ast.Constant(1, amount.location), stated, "LATENESS")
        return Duration(0, None if stated is None else stated.text)
    bound = bind_time(amount, stated, "LATENESS")
    with place_errors(amount.location):
        check_lateness(bound, unit)
    return bound


def _divide(definition: StreamDefinition, found: stream_ast.PartitionNode | None) -> StreamDefinition:
    """Return the definition with its parts."""
    if found is None:
        return definition
    parts = 1 if found.parts is None else found.parts.value
    if not isinstance(parts, int) or parts > MAX_INTEGER:
        raise beyond_64_bits(found.location)
    value = None if found.value is None else bind_record(found.value)
    with place_errors(found.location if found.parts is None else found.parts.location):
        check_parts(parts)
    with place_errors(found.location if found.value is None else place_of(found.value)):
        return replace(definition, partition=Partition(value, parts))


def _bind_duplicates(found: stream_ast.DuplicatesNode | None) -> DuplicatePolicy | None:
    return None if found is None else _choose(DuplicatePolicy, found.choice, "policy for duplicates")


def _bind_clock(found: stream_ast.ClockNode | None) -> StreamClock | None:
    return None if found is None else _choose(StreamClock, found.choice, "clock")


def _choose(kind: type[_E], name: ast.Name, what: str) -> _E:
    """Return the member of an enumeration that a name spells, in any case."""
    known = {each.value: each for each in kind}
    found = known.get(name.text.lower())
    if found is None:
        message = f"there is no {what} {show(name.text)}"
        hint = did_you_mean(name.text, known) or f"one of {', '.join(known)}"
        raise InvalidPatternError(message, name.location, hint=hint)
    return found


def _text(constant: ast.Constant) -> str:
    """Return the text of a constant that the grammar knows to be one."""
    return str(constant.value)
