"""Reference tables of a stream, and the JOIN clauses that read them: the model of `TABLE` and `JOIN`.

A table is a file whose rows have a key, and perhaps a time from which they hold. A JOIN looks up one row for each record. It
looks up one for each edge if its key reads `src` or `dst`. `risk.score` is then the column of that row, missing if there is no
row. Keys are texts, as ends are: 7 and '7' are one key.

What can be checked without the file is checked here; errors have no place, which the language adds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.record_expression import WITHOUT_QUOTATION, FieldPath, field_paths, reads_a_field
from graphtide_core.suggestion import did_you_mean, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_core.record_expression import RecordExpression
    from graphtide_core.record_format import RecordFormat
    from graphtide_core.record_time import RecordTime
    from graphtide_core.stream_definition import SetAttribute, StreamDefinition
    from graphtide_core.time import Duration

MOST_JOINS: Final = 16
"""JOIN clauses of a statement."""

MOST_COLUMNS: Final = 256
"""Columns of a table that a statement reads."""

LONGEST_FILE: Final = 1_000
"""Characters of the name of a file."""

ENDS: Final = ("src", "dst")
"""What the key of a JOIN reads of an edge, where a statement has EDGE clauses."""

_NAME_FILE: Final = "name the file: TABLE risk FROM 'risk.csv' KEY id"


@dataclass(frozen=True, slots=True)
class ReferenceTable:
    """`TABLE name FROM 'file' KEY key AT time`: rows that records are joined with.

    Attributes:
        name: by which JOIN names it.
        file: that has the rows; one without a folder is in `folder`.
        key: the column that identifies a row. Of rows with equal keys the last one counts, with times the last one not after
            the record's.
        format: how bytes become rows; None where the suffix of the file says it.
        time: from when on a row holds; None if rows always hold.
        where: which rows are of the table; None for all.
        nulls: texts that are missing values.
        reload: after what time services look for a new file; None if they never do.
        folder: of the file, where the text of the statement is in a file; it is no part of the statement.
    """

    name: str
    file: str
    key: str
    format: RecordFormat | None = None
    time: RecordTime | None = None
    where: RecordExpression | None = None
    nulls: tuple[str, ...] = ()
    reload: Duration | None = None
    folder: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Refuse what has no name."""
        if not self.name or not self.key:
            message = "the name is empty"
            raise InvalidPatternError(message)
        if not 0 < len(self.file) <= LONGEST_FILE or "\0" in self.file:
            message = f"the name of a file has 1 to {LONGEST_FILE:,} characters"
            raise InvalidPatternError(message, hint=_NAME_FILE)


@dataclass(frozen=True, slots=True)
class Join:
    """`JOIN table AS alias ON key = alias.column SET …`.

    Attributes:
        table: the name of the table.
        key: what is looked up among the table's keys.
        alias: by which expressions read the columns of the row; the name of the table, if no other is stated.
        sets: attributes that are added to those of all edges and events.
    """

    table: str
    key: RecordExpression
    alias: str
    sets: tuple[SetAttribute, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a key that is the same for every record."""
        if not self.alias:
            message = "the name is empty"
            raise InvalidPatternError(message)
        if not reads_a_field(self.key):
            message = "the key of JOIN is a constant, the same for every record"
            raise InvalidPatternError(message, hint=WITHOUT_QUOTATION)


def check_tables(tables: Sequence[ReferenceTable], joins: Sequence[Join]) -> None:
    """Check the names of tables and joins.

    Raises:
        InvalidPatternError: two have one name, a JOIN is with a table that is not there, or a table is not joined.
    """
    if len(joins) > MOST_JOINS:
        message = f"a stream has at most {MOST_JOINS} JOIN clauses"
        raise InvalidPatternError(message)
    names: set[str] = set()
    for table in tables:
        if table.name in names:
            message = f"two tables have the name {show(table.name)}"
            raise InvalidPatternError(message)
        names.add(table.name)
    aliases: set[str] = set()
    for join in joins:
        check_join(join, names, aliases)
        aliases.add(join.alias)
    for name in names - {join.table for join in joins}:
        message = f"no JOIN reads the table {show(name)}"
        raise InvalidPatternError(message)


def check_join(join: Join, tables: Iterable[str], taken: Iterable[str]) -> None:
    """Check one JOIN; `taken` are the names of those before it.

    Raises:
        InvalidPatternError: there is no such table, or a JOIN before has its name.
    """
    known = sorted(tables)
    if join.table not in known:
        message = f"there is no table {show(join.table)}"
        hint = did_you_mean(join.table, known) or f"state it in front: TABLE {join.table} FROM '{join.table}.csv' KEY id"
        raise InvalidPatternError(message, hint=hint)
    if join.alias in taken:
        message = f"two JOIN clauses have the name {show(join.alias)}"
        raise InvalidPatternError(message, hint=f"give the second another one: JOIN {join.table} AS other ON …")


class Aliases:
    """The names of a statement's joins, and which of them are looked up for each edge.

    Attributes:
        by_edge: names of joins whose row depends on the edge.
    """

    def __init__(self, joins: Iterable[Join], *, has_clauses: bool) -> None:
        """Look through the keys, in the order of the text."""
        self._tables = {join.alias: join.table for join in joins}
        self.by_edge: set[str] = set()
        for join in joins:
            if has_clauses and any(self._is_of_edge(path) for path in field_paths(join.key)):
                self.by_edge.add(join.alias)

    def __contains__(self, name: object) -> bool:
        """Return whether a JOIN has the name."""
        return name in self._tables

    def _is_of_edge(self, path: FieldPath) -> bool:
        return is_end(path) or (not path.outer and path.steps[0] in self.by_edge)

    def check_path(self, path: FieldPath, clause: str, *, of_record: bool = True) -> None:
        """Check one path that a clause reads.

        Args:
            path: what it reads.
            clause: its keyword.
            of_record: whether the clause is of a whole record, and not of each edge.

        Raises:
            InvalidPatternError: it is no column of a table, or one that is not known where the clause is evaluated.
        """
        first, *others = path.steps
        if path.outer or first not in self._tables:
            return
        if len(others) != 1 or not isinstance(others[0], str):
            message = f"{show(str(path))} is no column of {first}"
            hint = f"a column has one name: {first}.score; name the JOIN otherwise to read the field: JOIN … AS other"
            raise InvalidPatternError(message, hint=hint)
        if clause == "AT":
            message = f"AT reads {path}, and rows are looked up by the time of a record"
            raise InvalidPatternError(message, hint="the time is a field of the record")
        if of_record and first in self.by_edge:
            message = f"{clause} reads {path}, which is looked up for each edge"
            hint = "join by a field of the record in place of src and dst"
            raise InvalidPatternError(message, hint=hint)


def is_end(path: FieldPath) -> bool:
    """Return whether a path is an end of an edge, by its name."""
    return path.outer == 0 and len(path.steps) == 1 and path.steps[0] in ENDS


def reads_of(definition: StreamDefinition) -> Iterator[tuple[str, RecordExpression, bool]]:
    """Yield what a definition reads outside of JOIN: keyword, expression, and whether it is of the whole record."""
    yield "AT", definition.time.value, True
    conditions = {"WHERE": definition.where, "DELETE WHERE": definition.delete_where, "UPDATE WHERE": definition.update_where}
    for keyword, each in {**conditions, "ID": definition.id}.items():
        if each is not None:
            yield keyword, each, True
    for one in definition.sets:
        yield "SET", one.value, False
    for clause in definition.clauses:
        keyword, ends = ("EVENT", ("label",)) if clause.is_event else ("EDGE", ENDS)
        of_record = [value for name, value in clause.values_of_fields() if name in ends]
        for expression in clause.expressions():
            yield keyword, expression, any(expression is each for each in of_record)


def check_joins(definition: StreamDefinition) -> None:
    """Check what the tables and joins of a definition are, and what reads their columns.

    Raises:
        InvalidPatternError: a name is taken or unknown, a column is read where it is not known, or nothing reads a JOIN.
    """
    check_tables(definition.tables, definition.joins)
    check_joined_sets(definition)
    if not definition.joins:
        return
    aliases = Aliases(definition.joins, has_clauses=bool(definition.clauses))
    for place, join in enumerate(definition.joins):
        check_key(join, definition.joins[place:], aliases)
        for each in join.sets:
            for path in field_paths(each.value):
                aliases.check_path(path, "SET", of_record=False)
    for keyword, expression, of_record in reads_of(definition):
        for path in field_paths(expression):
            aliases.check_path(path, keyword, of_record=of_record)
    for join in definition.joins:
        check_used(join, definition)
    for table in definition.tables:
        if len(columns_read(definition, table.name)) > MOST_COLUMNS:
            message = f"a statement reads at most {MOST_COLUMNS} columns of a table"
            raise InvalidPatternError(message)


def check_joined_sets(definition: StreamDefinition) -> None:
    """Check the names of the attributes that JOIN clauses add.

    Raises:
        InvalidPatternError: a SET of the stream, of a clause or of another JOIN states one of them.
    """
    stated = {each.name for sets in (definition.sets, *(each.sets for each in definition.clauses)) for each in sets}
    for join in definition.joins:
        check_added(join.sets, stated)
        stated |= {each.name for each in join.sets}


def check_added(sets: Iterable[SetAttribute], stated: Iterable[str]) -> None:
    """Check the attributes of one JOIN; `stated` are those that others state.

    Raises:
        InvalidPatternError: both state one.
    """
    known = frozenset(stated)
    for each in sets:
        if each.name in known:
            message = f"{show(each.name)} is stated by another SET"
            raise InvalidPatternError(message, hint="an attribute has one value: give it another name, or write coalesce(a, b)")


def check_key(join: Join, later: Iterable[Join], aliases: Aliases) -> None:
    """Check what the key of a JOIN reads; `later` are the joins that are not known before it, with itself.

    Raises:
        InvalidPatternError: it reads a column of one of these.
    """
    unknown = {each.alias for each in later}
    for path in field_paths(join.key):
        aliases.check_path(path, "ON", of_record=False)
        if not path.outer and path.steps[0] in unknown:
            message = f"ON reads {path}, and only the JOIN clauses before are known there"
            raise InvalidPatternError(message, hint=f"write ON field = {join.alias}.key, the key alone on one side")


def check_used(join: Join, definition: StreamDefinition) -> None:
    """Check that something reads the row of a JOIN.

    Raises:
        InvalidPatternError: nothing does.
    """
    if not any(not path.outer and path.steps[0] == join.alias for each in _all_reads(definition) for path in field_paths(each)):
        message = f"nothing reads the row of JOIN {join.alias}"
        raise InvalidPatternError(message, hint=f"read a column of it: SET score = {join.alias}.score")


def _all_reads(definition: StreamDefinition) -> Iterator[RecordExpression]:
    yield from (expression for _, expression, _ in reads_of(definition))
    for join in definition.joins:
        yield join.key
        yield from (each.value for each in join.sets)


def joined_paths(definition: StreamDefinition) -> dict[FieldPath, str]:
    """Return the paths that are columns of tables, in the order in which they are read, with the names of the tables."""
    tables = {join.alias: join.table for join in definition.joins}
    found = {}
    for each in _all_reads(definition):
        for path in field_paths(each):
            table = None if path.outer else tables.get(str(path.steps[0]))
            if table is not None:
                found[path] = table
    return found


def columns_read(definition: StreamDefinition, table: str) -> tuple[str, ...]:
    """Return the columns of a table that a definition reads, each once, in the order of their names."""
    return tuple(sorted({str(path.steps[1]) for path, name in joined_paths(definition).items() if name == table}))
