"""Bind the EMIT clauses of a STREAM statement, and check every rule at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.errors import InvalidPatternError
from graphtide_core.stream_emissions import MOST_SUMMARIES, Emission, EmittedEnd, EmittedKey, Summary, check_emission
from graphtide_core.suggestion import show

from graphtide_query.language import ast, stream_ast
from graphtide_query.language.clauses import bind_time, place_errors
from graphtide_query.language.feature_binder import bind_condition, bind_function
from graphtide_query.language.record_expressions import place_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from graphtide_core.errors import Location
    from graphtide_core.time import TimeUnit

    from graphtide_query.language.stream_ast import EndNode, FilterNode, HavingNode, RecordNode, SetNode

_SUMMARY_HINT: Final = "SET of EMIT states functions over the window: SET n = count(*), total = sum(bytes)"


class EmitClause(NamedTuple):
    """An EMIT with the clauses right behind it."""

    node: stream_ast.EmitNode
    sets: SetNode | None
    where: FilterNode | None
    having: HavingNode | None


def bind_emissions(
    clauses: Iterable[EmitClause], features: Collection[str], stated: Collection[str], unit: TimeUnit
) -> tuple[Emission, ...]:
    """Return what EMIT clauses state.

    Args:
        clauses: in the order of the text.
        features: names of the stream's features.
        stated: labels and types that EDGE and EVENT clauses state as constants.
        unit: one tick of the stream.

    Raises:
        InvalidPatternError: an end, label, function or condition is none, a name is taken, or a window is not of whole ticks;
            with its place.
    Complexity: linear in the nodes.
    """
    found: list[Emission] = []
    seen = set(stated)
    for each in clauses:
        bound = _bind(each)
        with place_errors(each.node.location):
            check_emission(bound, features, seen, unit)
        seen.add(bound.label)
        found.append(bound)
    return tuple(found)


def _bind(clause: EmitClause) -> Emission:
    node = clause.node
    every = bind_time(node.every.amount, node.every.unit, "EVERY")
    given, ends = node.given, None
    if isinstance(given, stream_ast.EventNode):
        label = _bind_label(given.value, given.location)
    else:
        label = _bind_label(given.label, given.location)
        ends = (_bind_end(given.source), _bind_end(given.target))
    keys = tuple(EmittedKey(of.text, of.text if name is None else name.text) for of, name in node.keys)
    for place, (of, name) in enumerate(node.keys):
        with place_errors((name or of).location):
            Emission(label, every, ends, keys[: place + 1])
    with place_errors(node.location):
        bound = Emission(label, every, ends, keys)
    sets = () if clause.sets is None else _bind_sets(clause.sets, bound)
    where = None if clause.where is None else bind_condition(clause.where)
    bound = Emission(label, every, ends, keys, sets, where)
    if clause.having is None:
        return bound
    having = bind_condition(clause.having)
    with place_errors(place_of(clause.having.value)):
        return Emission(label, every, ends, keys, sets, where, having)


def _bind_label(label: RecordNode | None, place: Location) -> str:
    if isinstance(label, ast.Constant) and isinstance(label.value, str):
        with place_errors(label.location):
            return label.value
    message = "EMIT needs a label that is the same for all that it gives"
    hint = "EMIT EDGE (src)-[:burst]->(dst) EVERY 1m, or EMIT EVENT 'scan' PER src AS host EVERY 1m"
    raise InvalidPatternError(message, place if label is None else place_of(label), hint=hint)


def _bind_end(end: EndNode) -> EmittedEnd:
    label = None if end.label is None else _bind_label(end.label, place_of(end.value))
    if isinstance(end.value, stream_ast.FieldNode) and len(end.value.steps) == 1 and not end.value.outer:
        return EmittedEnd(str(end.value.steps[0]), label)
    message = "an end of EMIT is the name of an attribute or field"
    hint = "state other values by SET of the stream: SET host = lower(name)"
    raise InvalidPatternError(message, place_of(end.value), hint=hint)


def _bind_sets(sets: SetNode, emission: Emission) -> tuple[Summary, ...]:
    if len(sets.values) > MOST_SUMMARIES:
        message = f"a SET of EMIT states at most {MOST_SUMMARIES} attributes"
        raise InvalidPatternError(message, sets.location)
    found: list[Summary] = []
    for name, value in sets.values:
        bound = _bind_summary(name, value)
        found.append(bound)
        with place_errors(name.location):
            Emission(emission.label, emission.every, emission.ends, emission.keys, tuple(found))
    return tuple(found)


def _bind_summary(name: ast.Name, value: RecordNode | stream_ast.AggregateNode) -> Summary:
    match value:
        case stream_ast.AggregateNode(function, of, is_distinct):
            named = None if of is None else of.text
        case ast.Call(function, (stream_ast.FieldNode((step,), _, 0),)):
            named, is_distinct = str(step), False
        case _:
            message = f"{show(name.text)} is not computed of the window"
            raise InvalidPatternError(message, place_of(value), hint=_SUMMARY_HINT)
    kind = bind_function(function)
    with place_errors(function.location):
        return Summary(name.text, kind, named, is_distinct)
