"""Bind the FEATURE clauses of a STREAM statement, and check every rule at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.predicate import Aggregation
from graphtide_core.stream_features import Feature, check_condition, check_feature
from graphtide_core.suggestion import did_you_mean, show

from graphtide_query.language.clauses import bind_time, place_errors
from graphtide_query.language.record_expressions import bind_record, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.record_expression import RecordExpression
    from graphtide_core.time import TimeUnit

    from graphtide_query.language.ast import Name
    from graphtide_query.language.stream_ast import FeatureNode, FilterNode, ValueClause

_FUNCTIONS: Final = {each.value: each for each in Aggregation if each is not Aggregation.FIRST}


def bind_features(
    nodes: Iterable[tuple[FeatureNode, FilterNode | None]], taken: Iterable[str], unit: TimeUnit
) -> tuple[Feature, ...]:
    """Return the features that clauses state.

    Args:
        nodes: the clauses, each with its WHERE.
        taken: names of attributes that SET states.
        unit: one tick of the stream.

    Raises:
        InvalidPatternError: a function is unknown or does not take what is stated, a name is taken, or a window is too short;
            with its place.
    Complexity: linear in the nodes.
    """
    stated = [(node, _bind(node, where)) for node, where in nodes]
    names = {feature.name for _, feature in stated}
    seen = set(taken)
    for node, feature in stated:
        with place_errors(node.name.location):
            check_feature(feature, names, seen, unit)
        seen.add(feature.name)
    return tuple(feature for _, feature in stated)


def bind_function(name: Name) -> Aggregation:
    """Return the function over windows that a name spells, in any case.

    Raises:
        InvalidPatternError: there is none; with its place.
    """
    function = _FUNCTIONS.get(name.text.lower())
    if function is None:
        message = f"there is no function {show(name.text)} of windows"
        hint = did_you_mean(name.text, _FUNCTIONS) or f"one of {', '.join(_FUNCTIONS)}"
        raise InvalidPatternError(message, name.location, hint=hint)
    return function


def _bind(node: FeatureNode, where: FilterNode | None) -> Feature:
    function = bind_function(node.function)
    over = bind_time(node.over.amount, node.over.unit, "OVER")
    against = None if node.against is None else bind_time(node.against.amount, node.against.unit, "AGAINST")
    condition = None if where is None else bind_condition(where)
    keys = tuple(each.text for each in node.keys)
    of = None if node.of is None else node.of.text
    with place_errors(node.name.location):
        Feature(node.name.text, Aggregation.COUNT, over)
    with place_errors(node.function.location):
        Feature(node.name.text, function, over, of, node.is_distinct, against=against)
    with place_errors(node.keys[-1].location if node.keys else node.name.location):
        return Feature(node.name.text, function, over, of, node.is_distinct, keys, against, node.excludes_current, condition)


def bind_condition(where: ValueClause) -> RecordExpression:
    """Return a condition over attributes and fields of edges and events.

    Raises:
        InvalidPatternError: it is none; with its place.
    """
    condition = bind_record(where.value)
    with place_errors(place_of(where.value)):
        check_condition(condition)
    return condition
