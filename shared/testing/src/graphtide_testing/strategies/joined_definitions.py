"""Definitions of streams that join tables, over records and rows that mostly meet, and the rows of these tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.predicate import FunctionCall, IsNull
from graphtide_core.record_expression import FieldPath
from graphtide_core.record_time import EpochUnit, RecordTime
from graphtide_core.stream_definition import EdgeClause, SetAttribute, StreamDefinition
from graphtide_core.stream_joins import Join, ReferenceTable
from hypothesis import strategies as st

from graphtide_testing.strategies.read_records import PATHS, VALUES, reading_definitions

if TYPE_CHECKING:
    from graphtide_core.record_expression import RecordExpression
    from hypothesis.strategies import DrawFn

JOINED: Final = ("one", "two", "three")
"""Attributes that JOIN clauses state."""

_COLUMNS: Final = st.sampled_from(["score", "owner", "id", "absent"])
_ALIASES: Final = ("risk", "other", "third")
_KEYS: Final = st.one_of(
    *[st.sampled_from([FieldPath((name,)) for name in ("src", "dst", "a", "b", "k")])] * 4,
    st.builds(lambda left, right: FunctionCall("coalesce", (left, right)), PATHS, PATHS),
)
_SINCE: Final = RecordTime(FieldPath(("since",)))


@st.composite
def _tables(draw: DrawFn, name: str) -> ReferenceTable:
    time = draw(st.sampled_from([None, None, _SINCE, replace(_SINCE, unit=EpochUnit.SECOND)]))
    where = draw(st.sampled_from([None, None, IsNull(FieldPath(("gone",)))]))
    return ReferenceTable(name, f"{name}.jsonl", "id", None, time, where, tuple(draw(st.sampled_from([(), ("-",)]))))


@st.composite
def joined_definitions(draw: DrawFn) -> StreamDefinition:
    """A definition with one JOIN or several, whose columns are read by attributes, conditions, labels and keys."""
    definition = draw(reading_definitions())
    if draw(st.integers(0, 3)):
        # Most records are of the stream, and have a time.
        definition = replace(definition, where=None, time=RecordTime(FieldPath(("ts",))))
    names = draw(st.sampled_from([("risk",), ("risk", "hosts")]))
    tables = tuple(draw(_tables(name)) for name in names)
    joins: list[Join] = []
    for place, alias in enumerate(_ALIASES[: draw(st.integers(len(tables), 3))]):
        before = [FieldPath((join.alias, "owner")) for join in joins]
        key: RecordExpression = draw(st.sampled_from(before) | _KEYS if before else _KEYS)
        value = FieldPath((alias, draw(_COLUMNS)))
        joins.append(Join(tables[place % len(tables)].name, key, alias, (SetAttribute(JOINED[place], value),)))
    changed = replace(definition, tables=tables, joins=tuple(joins))
    column = FieldPath((joins[-1].alias, "score"))
    for each in draw(st.lists(st.sampled_from(["where", "clause", "end", "label", "set"]), max_size=2, unique=True)):
        try:
            changed = _reading_column(changed, column, each)
        except InvalidPatternError:
            # It is looked up for each edge.
            continue
    return changed


def _reading_column(definition: StreamDefinition, column: FieldPath, where: str) -> StreamDefinition:
    """Return a definition that reads a column somewhere else, too."""
    first = next((each for each in definition.clauses if isinstance(each, EdgeClause)), None)
    match where:
        case "where":
            return replace(definition, where=IsNull(column))
        case "set" if definition.sets:
            return replace(definition, sets=(*definition.sets[:-1], replace(definition.sets[-1], value=column)))
    if first is None:
        return definition
    match where:
        case "clause":
            changed = replace(first, where=IsNull(column))
        case "end":
            changed = replace(first, source=replace(first.source, value=FunctionCall("coalesce", (column, first.source.value))))
        case _:
            changed = replace(first, label=column)
    return replace(definition, clauses=tuple(changed if each is first else each for each in definition.clauses))


_GOOD_KEYS: Final = st.sampled_from(["u", "v", "d", "007", 7, "x y", "7", "-x"])


_ID: Final = {"id": st.integers(0, 40).flatmap(lambda rarely: st.none() if rarely == 40 else _GOOD_KEYS)}


@st.composite
def table_rows(draw: DrawFn) -> list[dict[str, object]]:
    """The rows of a table; rarely one cannot be read."""
    row = st.fixed_dictionaries(
        {"since": st.sampled_from([0, 1, 1_700_000_000, 1_700_000_001, "1700000000", 1_700_000_000_123]), **_ID},
        optional={"score": VALUES, "owner": _GOOD_KEYS, "gone": st.sampled_from([None, True])},
    )
    return draw(st.lists(row, max_size=8))
