"""Random patterns that get equalities of a key: some are local to it, others nearly so.

A pattern that were wrongly taken for local would find something else in parts than in the whole.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.graph_query import EDGE
from graphtide_core.pattern import Report
from graphtide_core.predicate import Attribute, Compare, Comparison, Literal

from graphtide_testing.strategies import (
    EventPatternShape,
    GraphQueryShape,
    PatternShape,
    random_event_pattern,
    random_graph_query,
    random_pattern,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.graph_query import GraphQuery
    from graphtide_core.part_key import PartKey
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.predicate import Expression


def nearly_local_pattern(rng: random.Random, key: PartKey, report: Report) -> SubgraphPattern:
    """Return a pattern of edges with a report."""
    pattern = random_pattern(rng, PatternShape(max_edges=3, report=report))
    names = [edge.name for edge in pattern.edges]
    if key.field in ("n", "s") or (key.field is not None and report is not Report.ALL):
        value = "v1" if key.field in ("src", "dst") else "x" if key.field == "label" else 1
        more = (
            _more_equal(rng, names, str(key.field))
            if report is Report.ALL
            else [_is(name, str(key.field), value) for name in names if rng.random() < 0.9]
        )
        pattern = replace(pattern, predicates=(*pattern.predicates, *more))
    return pattern


def nearly_local_events(rng: random.Random, field: str) -> EventPattern:
    """Return an event pattern, given the field that is the key."""
    pattern = random_event_pattern(rng, EventPatternShape(max_events=3))
    if rng.random() < 0.4:
        return replace(pattern, partition=(field,)) if pattern.one_per is None or pattern.report is Report.ALL else pattern
    for more in _more_equal(rng, [event.name for event in pattern.events], field):
        try:
            pattern = replace(pattern, predicates=(*pattern.predicates, more))
        except InvalidPatternError:
            continue
    return pattern


def nearly_local_query(rng: random.Random, key: PartKey) -> GraphQuery:
    """Return a graph query with one output."""
    shape = GraphQueryShape(closures=rng.random() < 0.3, max_atoms=2, max_symbols=2, max_heads=1)
    query = random_graph_query(rng, shape)
    if key.field is None or rng.random() < 0.5:
        return query
    value = "v1" if key.field in ("src", "dst") else "a" if key.field == "label" else 1
    inputs = [
        replace(each, conditions=(*each.conditions, _is(EDGE, key.field, value))) if rng.random() < 0.95 else each
        for each in query.inputs
    ]
    return replace(query, inputs=tuple(inputs))


def _equal(one: str, other: str, field: str) -> Expression:
    return Compare(Comparison.EQUAL, Attribute(one, field), Attribute(other, field))


def _is(name: str, field: str, value: int | str) -> Expression:
    return Compare(Comparison.EQUAL, Attribute(name, field), Literal(value))


def _more_equal(rng: random.Random, names: Sequence[str], field: str) -> list[Expression]:
    """Return a chain of equalities, mostly whole, or constants."""
    if rng.random() < 0.3:
        return [_is(name, field, 1) for name in names if rng.random() < 0.9]
    return [_equal(one, other, field) for one, other in pairwise(rng.sample(names, len(names))) if rng.random() < 0.9]
