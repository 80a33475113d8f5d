"""Print definitions of streams as STREAM statements: the canonical form.

Parsing the printed text gives an equal definition, for every one that parsing can produce. AT is always printed: it separates
the WHERE, SET and ID of the last EDGE or EVENT from those of the stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.predicate import Literal, map_operands
from graphtide_core.record_expression import FieldPath, ItemWhere
from graphtide_core.record_format import WHITESPACE
from graphtide_core.stream_definition import EdgeClause
from graphtide_core.time import TimeUnit

from graphtide_query.language import expression_printer
from graphtide_query.language.expression_printer import SpelledLeaf
from graphtide_query.language.spelling import write_constant, write_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.record_expression import PathStep, RecordExpression
    from graphtide_core.record_format import RecordFormat
    from graphtide_core.record_time import RecordTime
    from graphtide_core.stream_definition import EventClause, LabelledEnd, SetAttribute, StreamDefinition
    from graphtide_core.stream_emissions import Emission, EmittedEnd, EmittedKey, Summary
    from graphtide_core.stream_features import Feature
    from graphtide_core.stream_joins import Join, ReferenceTable
    from graphtide_core.stream_partition import Partition

    from graphtide_query.language.expression_printer import SpelledExpression

_FIXED_WORDS = {
    ("delimiter", WHITESPACE): "whitespace",
    ("delimiter", "\t"): "tab",
    ("header", False): "none",
    ("header", True): "first",
    ("quote", ""): "none",
}


def print_stream(stream: StreamDefinition) -> str:
    """Return the statement of a definition.

    Raises:
        InvalidPatternError: an expression holds an infinity or NaN.
    Complexity: linear in the definition.
    """
    lines = [*map(_write_table, stream.tables), f"STREAM {write_name(stream.name)}"]
    if stream.format is not None:
        lines.append(f"FORMAT {_write_format(stream.format)}")
    keys = {table.name: table.key for table in stream.tables}
    lines += [_write_join(join, keys[join.table]) for join in stream.joins]
    lines += map(_write_part, stream.clauses)
    lines.append(_write_time(stream.time))
    if stream.unit is not TimeUnit.MILLISECOND:
        lines.append(f"UNIT {stream.unit.value}")
    if stream.id is not None:
        lines.append(f"ID {_write_value(stream.id)}")
    if stream.sets:
        lines.append(f"SET {_write_sets(stream.sets)}")
    lines += [
        f"{keyword} {_write_condition(condition)}"
        for keyword, condition in (
            ("WHERE", stream.where),
            ("DELETE WHERE", stream.delete_where),
            ("UPDATE WHERE", stream.update_where),
        )
        if condition is not None
    ]
    if stream.nulls:
        lines.append(f"NULL {', '.join(map(write_constant, stream.nulls))}")
    settings = [f"LATENESS {stream.lateness}"] if stream.lateness is not None else []
    settings += [f"DUPLICATES {stream.duplicates.value.upper()}"] if stream.duplicates is not None else []
    settings += [f"CLOCK {stream.clock.value}"] if stream.clock is not None else []
    if settings:
        lines.append(" ".join(settings))
    if stream.partition is not None:
        lines.append(_write_partition(stream.partition))
    lines += map(_write_feature, stream.features)
    lines += map(_write_emission, stream.emissions)
    return "\n".join(lines) + "\n"


def _write_table(table: ReferenceTable) -> str:
    words = [f"TABLE {write_name(table.name)} FROM {write_constant(table.file)}"]
    words += [f"FORMAT {_write_format(table.format)}"] if table.format is not None else []
    words.append(f"KEY {write_name(table.key)}")
    words += [_write_time(table.time)] if table.time is not None else []
    words += [f"WHERE {_write_condition(table.where)}"] if table.where is not None else []
    words += [f"NULL {', '.join(map(write_constant, table.nulls))}"] if table.nulls else []
    words += [f"RELOAD {table.reload}"] if table.reload is not None else []
    return " ".join(words)


def _write_join(join: Join, key: str) -> str:
    table = write_name(join.table) + (f" AS {write_name(join.alias)}" if join.alias != join.table else "")
    words = [f"JOIN {table} ON {_write_value(join.key)} = {_write_path(FieldPath((join.alias, key)))}"]
    words += [f"SET {_write_sets(join.sets)}"] if join.sets else []
    return " ".join(words)


def _write_partition(partition: Partition) -> str:
    value = "VERTEX" if partition.by is None else _write_value(partition.by)
    if partition.by is not None and value.upper() == "VERTEX":
        value = f"`{value}`"
    return f"PARTITION BY {value}" + (f" PARTS {partition.parts}" if partition.parts > 1 else "")


def _write_format(stated: RecordFormat) -> str:
    text = stated.name if stated.pattern is None else f"{stated.name} {write_constant(stated.pattern)}"
    options = [_write_option(each, getattr(stated, each)) for each in stated.stated() if each != "pattern"]
    return f"{text} ({', '.join(options)})" if options else text


def _write_option(option: str, value: str | bool | tuple[str, ...] | FieldPath) -> str:
    match value:
        case FieldPath():
            text = _write_path(value)
        case tuple():
            text = f"({', '.join(map(write_name, value))})"
        case _:
            text = _FIXED_WORDS.get((option, value)) or write_constant(value)
    return f"{option.upper()} {text}"


def _write_part(part: EdgeClause | EventClause) -> str:
    if isinstance(part, EdgeClause):
        words = [f"EDGE {_write_end(part.source)}{_write_arrow(part.label)}{_write_end(part.target)}"]
    else:
        words = [f"EVENT {_write_value(part.type)}"]
    if part.where is not None:
        words.append(f"WHERE {_write_condition(part.where)}")
    if part.sets:
        words.append(f"SET {_write_sets(part.sets)}")
    if part.id is not None:
        words.append(f"ID {_write_value(part.id)}")
    return " ".join(words)


def _write_feature(feature: Feature) -> str:
    words = [f"FEATURE {_write_function(feature)}"]
    words += [f"PER {', '.join(map(write_name, feature.keys))}"] if feature.keys else []
    words.append(f"OVER {feature.over}")
    words += [f"AGAINST {feature.against}"] if feature.against is not None else []
    words += ["EXCLUDE CURRENT"] if feature.excludes_current else []
    words += [f"WHERE {_write_condition(feature.where)}"] if feature.where is not None else []
    return " ".join(words)


def _write_function(stated: Feature | Summary) -> str:
    of = "*" if stated.of is None else write_name(stated.of)
    distinct = "DISTINCT " if stated.is_distinct else ""
    return f"{write_name(stated.name)} = {stated.function.value}({distinct}{of})"


def _write_emission(emission: Emission) -> str:
    if emission.ends is None:
        words = [f"EMIT EVENT {write_constant(emission.label)}"]
    else:
        source, target = (_write_emitted_end(each) for each in emission.ends)
        words = [f"EMIT EDGE {source}-[:{write_name(emission.label)}]->{target}"]
    words += [f"PER {', '.join(map(_write_emitted_key, emission.keys))}"] if emission.keys else []
    words.append(f"EVERY {emission.every}")
    words += [f"SET {', '.join(map(_write_function, emission.sets))}"] if emission.sets else []
    words += [f"WHERE {_write_condition(emission.where)}"] if emission.where is not None else []
    words += [f"HAVING {_write_condition(emission.having)}"] if emission.having is not None else []
    return " ".join(words)


def _write_emitted_key(key: EmittedKey) -> str:
    return write_name(key.of) if key.of == key.name else f"{write_name(key.of)} AS {write_name(key.name)}"


def _write_emitted_end(end: EmittedEnd) -> str:
    label = "" if end.label is None else f":{write_name(end.label)}"
    return f"({_write_path(FieldPath((end.name,)))}{label})"


def _write_end(end: LabelledEnd) -> str:
    match end.label:
        case None:
            label = ""
        case Literal(str() as text) if text:
            label = f":{write_name(text)}"
        case other:
            label = f":({_write_condition(other)})"
    return f"({_write_value(end.value)}{label})"


def _write_arrow(label: RecordExpression | None) -> str:
    match label:
        case None:
            return "-->"
        case Literal(str() as text) if text:
            return f"-[:{write_name(text)}]->"
        case _:
            return f"-[{_write_value(label)}]->"


def _write_time(time: RecordTime) -> str:
    words = [f"AT {_write_value(time.value)}"]
    words += [f"IN {time.unit.value}"] if time.unit is not None else []
    words += [f"FORMAT {write_constant(time.format)}"] if time.format is not None else []
    words += [f"ZONE {write_constant(time.zone)}"] if time.zone is not None else []
    words += [f"BEFORE {write_constant(time.before)}"] if time.before is not None else []
    return " ".join(words)


def _write_sets(sets: Iterable[SetAttribute]) -> str:
    return ", ".join(f"{write_name(each.name)} = {_write_condition(each.value)}" for each in sets)


def _write_value(expression: RecordExpression) -> str:
    """Spell an expression as a value: a comparison or a condition gets parentheses."""
    return expression_printer.write_value(_spell_leaves(expression))


def _write_condition(expression: RecordExpression) -> str:
    """Spell an expression for a place that takes any."""
    return expression_printer.write_condition(_spell_leaves(expression))


def _spell_leaves(expression: RecordExpression) -> SpelledExpression:
    match expression:
        case Literal():
            return expression
        case FieldPath():
            return SpelledLeaf(_write_path(expression))
        case _:
            return map_operands(expression, _spell_leaves)


def _write_path(path: FieldPath) -> str:
    """Spell a path, with names in backticks where they need them."""
    first, *others = path.steps
    spelled = write_name(str(first))
    if spelled.upper() == "OUTER" and others:
        # A dot may follow it.
        spelled = f"`{spelled}`"
    return "OUTER." * path.outer + spelled + "".join(map(_write_step, others))


def _write_step(step: PathStep) -> str:
    match step:
        case ItemWhere(field, text):
            return f"[{write_name(field)} = {write_constant(text)}]"
        case int():
            return f"[{step}]"
        case str():  # pragma: no branch - mypy knows that no case is left
            return f".{write_name(step)}"
