"""Definitions of streams that a STREAM statement can state, with any names, constants, functions and options."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_core.errors import InvalidPatternError
from graphtide_core.ids import StreamName
from graphtide_core.predicate import IsNull, Literal
from graphtide_core.record_expression import LARGEST_POSITION, FieldPath, RecordExpression, reads_a_field
from graphtide_core.record_format import ENCODINGS, RECORD_FORMATS, RecordFormat
from graphtide_core.record_time import EpochUnit, RecordTime
from graphtide_core.stream_definition import (
    RESERVED_FOR_EDGES,
    EdgeClause,
    EventClause,
    LabelledEnd,
    SetAttribute,
    StreamClock,
    StreamDefinition,
    stated_labels,
)
from graphtide_core.stream_joins import ENDS, Join, ReferenceTable
from graphtide_core.stream_partition import Partition
from graphtide_core.time import Duration, TimeUnit
from hypothesis import strategies as st

from graphtide_testing.strategies.calls import ZONES, calls
from graphtide_testing.strategies.expressions import operators
from graphtide_testing.strategies.stream_emissions import stream_emissions
from graphtide_testing.strategies.stream_features import stream_features

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

TEXTS: Final = st.text(st.characters(codec="utf-8"), max_size=6)
NAMES: Final = st.sampled_from(
    ["a", "id", "ts", "set", "Where", "null", "format", "id.orig_h", "größe", "x y", "`", "a\nb", "//", "1", "stream"]
) | TEXTS.filter(bool)
CONSTANTS: Final = (
    st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS | st.booleans() | st.none()
)
PATHS: Final = st.builds(
    lambda first, others: FieldPath((first, *others)), NAMES, st.lists(NAMES | st.integers(0, LARGEST_POSITION), max_size=3)
)

_DURATIONS: Final = st.builds(Duration, st.integers(0, 10**4), st.sampled_from([None, "s", "m", "h", "d", "w"]))
_SIGNS: Final = {
    "delimiter": st.sampled_from([";", "\t", "whitespace", " ", "||", "'"]),
    "header": st.booleans(),
    "columns": st.lists(NAMES, min_size=1, max_size=4, unique=True).map(tuple),
    "comment": st.sampled_from(["#", "//"]),
    "quote": st.sampled_from(["", '"', "'"]),
    "decimal": st.sampled_from([".", ","]),
    "encoding": st.sampled_from(ENCODINGS),
    "unnest": PATHS,
    "schema": TEXTS.filter(bool),
    "descriptor": TEXTS.filter(bool),
    "message": TEXTS.filter(bool),
    "row": TEXTS.filter(bool),
    "pattern": st.sampled_from([r"(?P<h>\S+) (?P<u>\S+)", "(?P<all>.*)"]),
}
_NEEDED: Final = frozenset({"pattern", "descriptor", "message", "row"})


@st.composite
def record_formats(draw: DrawFn) -> RecordFormat:
    """A format with some of its options."""
    name = draw(st.sampled_from(sorted(RECORD_FORMATS)))
    options: dict[str, Any] = {
        option: draw(_SIGNS[option])
        for option in sorted(RECORD_FORMATS[name])
        if option in _NEEDED or draw(st.integers(0, 2)) == 0
    }
    if options.get("decimal") == ",":
        options.setdefault("delimiter", ";")
    if options.get("quote") == options.get("delimiter"):
        options.pop("quote", None)
    return RecordFormat(name, **options)


def _larger(part: SearchStrategy[RecordExpression]) -> SearchStrategy[RecordExpression]:
    return operators(part, CONSTANTS, TEXTS) | calls(part)


RECORD_EXPRESSIONS: Final[SearchStrategy[RecordExpression]] = st.recursive(
    st.builds(Literal, CONSTANTS) | PATHS, _larger, max_leaves=6
)
"""An expression over a record."""

FIELD_EXPRESSIONS: Final = RECORD_EXPRESSIONS.filter(reads_a_field)
"""An expression that depends on the record."""

RECORD_TIMES: Final = st.one_of(
    st.builds(RecordTime, FIELD_EXPRESSIONS, st.none() | st.sampled_from(EpochUnit), st.none(), st.none() | ZONES),
    st.builds(
        RecordTime,
        FIELD_EXPRESSIONS,
        st.none(),
        st.sampled_from(["%d/%m/%Y %H:%M", "%b %d %y, %I %p 100%%", "iso", "%Y%j", "%F %T"]),
        st.none() | ZONES,
    ),
    st.builds(RecordTime, FIELD_EXPRESSIONS, st.none(), st.sampled_from(["%Y-%m-%d%z", "rfc2822"])),
    st.builds(
        RecordTime,
        FIELD_EXPRESSIONS,
        st.none(),
        st.sampled_from(["%b %d %H:%M:%S", "syslog"]),
        st.none() | ZONES,
        st.sampled_from(["2027-01-01", "2024-02-29"]),
    ),
    st.builds(RecordTime, FIELD_EXPRESSIONS, st.none(), st.just("syslog"), st.none() | ZONES),
)
"""The time of a record."""


def _maybe(strategy: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.none() | strategy


_EXPRESSION: Final = _maybe(RECORD_EXPRESSIONS)
_SETS: Final = st.lists(
    st.builds(SetAttribute, NAMES.filter(lambda name: name not in RESERVED_FOR_EDGES | {"type"}), RECORD_EXPRESSIONS),
    max_size=3,
    unique_by=lambda each: each.name,
).map(tuple)
_ID: Final = _maybe(FIELD_EXPRESSIONS)
_SOURCES: Final = st.builds(LabelledEnd, FIELD_EXPRESSIONS, _EXPRESSION)
_ENDS: Final = st.builds(LabelledEnd, RECORD_EXPRESSIONS, _EXPRESSION)
_CLAUSES: Final = st.one_of(
    st.builds(EdgeClause, _SOURCES, _ENDS, _EXPRESSION, _EXPRESSION, _SETS, _ID),
    st.builds(EdgeClause, _ENDS, _SOURCES, _EXPRESSION, _EXPRESSION, _SETS, _ID),
    st.builds(EventClause, RECORD_EXPRESSIONS, _EXPRESSION, _SETS, _ID),
)


_READ: Final = ["src", "dst", "type", "ts", "x y", "`", "where", "over", "größe"]
"""Names that features read."""

_STATED: Final = {
    "format": _maybe(record_formats()),
    "clauses": st.lists(_CLAUSES, max_size=2).map(tuple),
    "nulls": st.lists(TEXTS, max_size=3, unique=True).map(tuple),
    "lateness": _maybe(_DURATIONS),
    "duplicates": _maybe(st.sampled_from(DuplicatePolicy)),
    "clock": _maybe(st.sampled_from(StreamClock)),
}


@st.composite
def stream_definitions(draw: DrawFn) -> StreamDefinition:
    """A definition that a statement can state."""
    identity = draw(_ID)
    sets = draw(_SETS)
    clauses = draw(_STATED["clauses"])
    named = [each.name for several in (sets, *(clause.sets for clause in clauses)) for each in several]
    # A tick is a nanosecond at least, and a window a tick.
    features = draw(stream_features(_READ, named, lengths=(1, 60, 3_600)))
    emissions = draw(stream_emissions(_READ, stated_labels(clauses), lengths=(1, 60, 3_600)))
    definition = StreamDefinition(
        StreamName(draw(NAMES)),
        draw(_STATED["format"]),
        clauses,
        draw(RECORD_TIMES),
        draw(st.sampled_from(TimeUnit)),
        identity,
        sets,
        draw(_EXPRESSION),
        None if identity is None else draw(_EXPRESSION),
        None if identity is None else draw(_EXPRESSION),
        draw(_STATED["nulls"]),
        draw(_STATED["lateness"]),
        None if identity is None else draw(_STATED["duplicates"]),
        draw(_STATED["clock"]),
        None,
        features,
        emissions,
    )
    definition = draw(_join_tables(definition))
    keys = [each.value for several in (sets, *(clause.sets for clause in clauses)) for each in several]
    ends = [value for clause in clauses for _, value in clause.values_of_fields()]
    return _divide(definition, draw(st.sampled_from([None, FieldPath(("src",)), *keys, *ends])), draw(st.integers(0, 3)))


_TABLE_NAMES: Final = NAMES.filter(lambda name: name not in ENDS)
_TABLES: Final = st.builds(
    ReferenceTable,
    _TABLE_NAMES,
    st.sampled_from(["risk.csv", "a b/größe.parquet", "`'\".jsonl"]),
    NAMES,
    _maybe(record_formats()),
    _maybe(RECORD_TIMES),
    _EXPRESSION,
    st.lists(TEXTS, max_size=2, unique=True).map(tuple),
    _maybe(st.builds(Duration, st.integers(1, 10**4), st.sampled_from(["s", "m", "h"]))),
)


@st.composite
def _join_tables(draw: DrawFn, definition: StreamDefinition) -> StreamDefinition:
    """The definition with tables that it joins, and attributes that are columns of them."""
    tables = draw(st.lists(_TABLES, max_size=2, unique_by=lambda each: each.name))
    aliases = draw(st.lists(_TABLE_NAMES, min_size=len(tables), max_size=len(tables) + 1, unique=True)) if tables else []
    named = definition.stated_attributes()
    taken = {*named, *definition.windows.names, *RESERVED_FOR_EDGES, "type"}
    joins = []
    for place, alias in enumerate(aliases):
        table = tables[place % len(tables)].name
        name = draw(NAMES.filter(lambda name: name not in taken))
        taken.add(name)
        column: RecordExpression = FieldPath((alias, "score"))
        value = draw(st.sampled_from([column, IsNull(column)]))
        key = draw(st.sampled_from([FieldPath(("src",)), FieldPath(("dst",))]) | FIELD_EXPRESSIONS)
        joins.append(Join(table, key, alias, (SetAttribute(name, value),)))
    try:
        return replace(definition, tables=tuple(tables), joins=tuple(joins))
    except InvalidPatternError:
        # Other clauses read fields that are called as the table is.
        return definition


def _divide(definition: StreamDefinition, by: RecordExpression | None, parts: int) -> StreamDefinition:
    """Return a definition in parts, if its edges and events have the key; 0 parts are none."""
    try:
        return replace(definition, partition=Partition(by, parts)) if parts else definition
    except InvalidPatternError:
        return definition
