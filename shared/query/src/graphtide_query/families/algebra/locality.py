"""Whether a streaming graph query is local to the key of a stream in parts.

Tuples of a window are sets: edges between the same vertices are one tuple, whatever their attributes. So only the ends of edges
can keep tuples apart. The proof follows the rules: it finds the columns of each head whose vertex decides the part. All edges
that a tuple follows from are then in the part of that vertex. A rule keeps a column if one variable stands in such a column of
each of its atoms. Each atom must be a single step, since a longer path meets edges of other vertices.

By a vertex key both columns of an input are such: the part of either end has the edge. Tuples of a part are exact where it
owns the vertex in the column, so the output leaves out the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.graph_query import EDGE
from graphtide_core.path_expression import Alternation, Symbol
from graphtide_core.regular_rule import Variable

from graphtide_query.locality import Equalities, Locality, constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.edge import Value
    from graphtide_core.graph_query import GraphQuery, Input
    from graphtide_core.part_key import PartKey
    from graphtide_core.path_expression import PathExpression
    from graphtide_core.regular_rule import Atom, Rule

Columns = frozenset[int]
"""Columns whose vertex decides the part of a tuple."""

_OF_INPUTS: Final[Mapping[str | None, Columns]] = {"src": frozenset((0,)), "dst": frozenset((1,)), None: frozenset((0, 1))}
"""By the field of the key."""


def locality(query: GraphQuery, key: PartKey) -> Locality:
    """Return where a query is answered. Complexity: O(size of the query)."""
    if len(query.streams) > 1:
        return Locality(key, "it reads several streams")
    if query.is_view:
        return Locality(key, "a view is one stream in order")
    if (value := _constant(query.inputs, key)) is not None:
        return Locality(key, constant=value)
    if key.field not in _OF_INPUTS:
        obstacle = f"edges between the same vertices are one tuple, whatever their {key}"
        return Locality(key, obstacle, f"compare the key with one constant in every MATCH: {EDGE}.{key} = …")
    columns: dict[str, Columns] = {each.name: _OF_INPUTS[key.field] for each in query.inputs}
    for rule in query.rules:
        kept = _columns(rule, columns)
        columns[rule.head] = kept & columns.get(rule.head, kept)
    lacking = next((each for each in query.outputs if not columns[each.head]), None)
    if lacking is not None:
        obstacle = f"the results {lacking.label} follow from edges of several parts"
        return Locality(key, obstacle, "let all steps of a MATCH begin or end at one vertex that the results have")
    owners = tuple(each.columns[min(columns[each.head])] for each in query.outputs)
    return Locality(key, owners=owners if key.is_vertex else ())


def _columns(rule: Rule, columns: Mapping[str, Columns]) -> Columns:
    """Return the columns of a rule's head whose vertex decides the part of all its atoms."""
    shared = set.intersection(*({*_variables(atom, columns)} for atom in rule.body))
    return frozenset(place for place, name in enumerate(rule.columns) if name in shared)


def _variables(atom: Atom, columns: Mapping[str, Columns]) -> Iterable[str]:
    """Return the variables of an atom that stand where the vertex decides the part of what the atom is derived from."""
    places = _of_expression(atom.expression, columns)
    return [end.name for place, end in enumerate((atom.source, atom.target)) if place in places and isinstance(end, Variable)]


def _of_expression(expression: PathExpression, columns: Mapping[str, Columns]) -> Columns:
    match expression:
        case Symbol(predicate, is_inverse):
            return frozenset(1 - place if is_inverse else place for place in columns[predicate] if place < 2)
        case Alternation(options):
            return frozenset.intersection(*(_of_expression(each, columns) for each in options))
        case _:
            return frozenset()


def _constant(inputs: Iterable[Input], key: PartKey) -> tuple[Value] | None:
    """Return the one value of the key that all edges of all inputs have, as a tuple."""
    if key.field is None:
        return None
    found: set[tuple[Value] | None] = set()
    for each in inputs:
        equalities = Equalities(each.conditions)
        if each.label is not None:
            equalities.unite((EDGE, "label"), constant(each.label))
        found.add(equalities.constant_of((EDGE, key.field)))
    return found.pop() if len(found) == 1 else None
