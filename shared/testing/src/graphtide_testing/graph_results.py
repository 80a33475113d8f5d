"""Results of streaming graph queries as plain values, and their paths, walked step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.match import DerivedEdge, IntervalMatch, result_id
from graphtide_core.path_expression import Symbol, symbols
from graphtide_core.plans import GraphPlan, PathEngine
from graphtide_core.regular_rule import Variable
from graphtide_query.families.algebra.automaton import automaton_of
from graphtide_query.families.algebra.physical import compile_plan
from graphtide_query.families.algebra.translation import derived_predicates, path_as_one

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from graphtide_core.edge import Edge
    from graphtide_core.graph_query import GraphQuery
    from graphtide_core.ids import VertexId
    from graphtide_core.match import Match, PathStep
    from graphtide_core.regular_rule import Atom

    from graphtide_testing.oracles.graph_queries import EmittedInterval, GraphQueryOracle, Row, Snapshot

Emitted = tuple[str, str, "Row", tuple[int, int | None], str, int]
"""An emitted result: kind, label, vertices, interval, identity and place in its instant."""


def sort_matches(matches: Iterable[Match]) -> list[Emitted]:
    """Return the results that an engine emits, sorted; a repeated result is repeated here."""
    found = (each for each in matches if isinstance(each, IntervalMatch))
    return sorted(
        (each.kind.value, each.label, tuple(each.bindings.values()), each.valid, each.match_id, each.nth) for each in found
    )


def find_expected(query: GraphQuery, emitted: Iterable[EmittedInterval]) -> list[Emitted]:
    """Return the results that the oracle emits, sorted."""
    return sorted(
        (
            each.kind.value,
            each.label,
            each.row,
            each.valid,
            result_id(query.name, query.version, each.label, each.row),
            each.nth,
        )
        for each in emitted
    )


def as_one_path(query: GraphQuery, engine: PathEngine = PathEngine.S_PATH) -> GraphPlan | None:
    """Return the plan of a query of one path as one PATH over its inputs; None for any other query."""
    if len(query.rules) != 1 or len(query.rules[0].body) != 1 or query.rules[0].conditions:
        return None
    ((atom,), columns) = query.rules[0].body, query.rules[0].columns
    ends = (atom.source, atom.target)
    if isinstance(atom.expression, Symbol) or ends != tuple(map(Variable, columns)) or columns[0] == columns[1]:
        return None
    path = path_as_one(atom.expression, derived_predicates(query).known, query.rules[0].head)
    return GraphPlan(query, compile_plan(query, (path,), engine))


def check_path(query: GraphQuery, found: IntervalMatch, oracle: GraphQueryOracle, edges: Mapping[str, Edge]) -> None:
    """Check that the path of a result is valid as long as the result, hangs together and spells a word.

    Args:
        query: its first output emits paths.
        found: a result that is valid from now on.
        oracle: which took the same records.
        edges: those of the stream, by id.

    Raises:
        AssertionError: it is not such a path.
    """
    head, name = query.outputs[0].head, query.outputs[0].path
    rules = [rule for rule in query.rules if rule.head == head]
    now, until = int(found.detected_at), found.valid[1]
    assert found.path, "a path is not empty"
    # A snapshot between the two has no fewer of the steps: each is valid without a break.
    # The greatest time is the end of what is valid there, too.
    for instant in (now, now if until is None else max(now, until - 1)):
        snapshot = oracle.snapshot(instant)
        atoms = [(rule, next(atom for atom in rule.body if atom.name == name)) for rule in rules]
        ends = {end for _, atom in atoms for end in _list_rows(query, atom, found.path, snapshot, edges)}
        assert ends, (found.path, instant)
        known = dict(zip(rules[0].columns, found.bindings.values(), strict=True))
        for _, atom in atoms if len(atoms) == 1 else ():
            asked = tuple(known.get(end.name) if isinstance(end, Variable) else end.key for end in (atom.source, atom.target))
            assert any(all(one is None or one == other for one, other in zip(asked, pair, strict=True)) for pair in ends), (
                asked,
                ends,
            )


def _list_rows(
    query: GraphQuery, atom: Atom, path: tuple[PathStep, ...], snapshot: Snapshot, edges: Mapping[str, Edge]
) -> Iterator[Row]:
    """Yield the ends between which steps spell a word of an atom's expression, all of them in a snapshot."""
    order = {symbol: number for number, symbol in enumerate(dict.fromkeys(symbols(atom.expression)))}
    automaton = automaton_of(atom.expression, order)
    first = _row(path[0], edges)
    for start in dict.fromkeys(first):
        reached = {(start, 0)}
        for step in path:
            row = _row(step, edges)
            after: set[tuple[VertexId, int]] = set()
            for symbol, number in order.items():
                if row not in snapshot[symbol.predicate] or not _is_of(step, symbol.predicate, query, edges):
                    continue
                source, target = row[::-1] if symbol.is_inverse else row
                after |= {
                    (target, to)
                    for vertex, state in reached
                    if vertex == source
                    for before, own, to in automaton.transitions
                    if (before, own) == (state, number)
                }
            reached = after
        yield from ((start, vertex) for vertex, state in reached if state in automaton.accepting)


def _row(step: PathStep, edges: Mapping[str, Edge]) -> Row:
    if isinstance(step, DerivedEdge):
        return (step.source, step.target)
    return (edges[step].source, edges[step].target)


def _is_of(step: PathStep, predicate: str, query: GraphQuery, edges: Mapping[str, Edge]) -> bool:
    """Return whether a step is a tuple of a predicate, by its kind and its label."""
    while (other := _rename(predicate, query)) is not None:
        predicate = other
    known = next((each for each in query.inputs if each.name == predicate), None)
    if isinstance(step, DerivedEdge):
        return known is None and step.label == predicate
    return known is not None and known.label in {None, edges[step].label}


def _rename(predicate: str, query: GraphQuery) -> str | None:
    """Return the head that a head is another name of, if it is; the name of an input derives edges."""
    rules = [rule for rule in query.rules if rule.head == predicate]
    if len(rules) != 1 or len(rules[0].body) != 1 or rules[0].conditions:
        return None
    (atom,), columns = rules[0].body, rules[0].columns
    is_plain = (atom.source, atom.target) == tuple(map(Variable, columns)) and columns[0] != columns[1]
    is_edge = isinstance(atom.expression, Symbol) and not atom.expression.is_inverse
    other = next(symbols(atom.expression)).predicate if is_plain and is_edge else None
    return other if other in {rule.head for rule in query.rules} else None
