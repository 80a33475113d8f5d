"""Rules applied everywhere in a plan: each step is one law at one place, wherever that expression stands.

Equal expressions are one, so that a step replaces all of them and what is shared stays shared. What is fixed, and everything in
it, is left as it is: the paths of a query are told from expressions as they are written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.algebra import Filter, Path, Pattern, Union, WScan, distinct

from graphtide_query.families.algebra.ends import filtered
from graphtide_query.families.algebra.path_forms import in_form
from graphtide_query.families.algebra.rules import RULES, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Set

    from graphtide_core.algebra import Algebra
    from graphtide_core.graph_query import GraphQuery

    from graphtide_query.families.algebra.rules import Rule

Plan = tuple["Algebra", ...]
"""An expression for each output of a query."""


def fixed_parts(query: GraphQuery, canonical: Plan) -> frozenset[Algebra]:
    """Return what must not be rewritten: outputs whose paths are told, and all that they are made of."""
    told = (each for each, output in zip(canonical, query.outputs, strict=True) if output.path is not None)
    return frozenset(part for each in told for part in distinct(each))


def rewritings(
    plan: Plan, fixed: Set[Algebra] = frozenset(), rules: Sequence[Rule] = RULES
) -> Iterator[tuple[str, Plan]]:
    """Yield each plan that one rule makes of a plan at one place, with the rule's name.

    Complexity: for each step, linear in the plan.
    """
    places = dict.fromkeys(each for expression in plan for each in distinct(expression) if each not in fixed)
    for place in places:
        for rule in rules:
            for new in rule(place):
                if new != place:
                    yield name_of(rule), with_replaced(plan, place, new, fixed)


def with_replaced(plan: Plan, old: Algebra, new: Algebra, fixed: Set[Algebra] = frozenset()) -> Plan:
    """Return a plan with another expression wherever one stands, but in what is fixed."""
    known: dict[Algebra, Algebra] = {old: new}

    def visit(each: Algebra) -> Algebra:
        if each in fixed:
            return each
        found = known.get(each)
        if found is None:
            found = known[each] = _rebuilt(each)
        return found

    def _rebuilt(each: Algebra) -> Algebra:
        match each:
            case WScan():
                return each
            case Filter(operand):
                inner = visit(operand)
                return each if inner is operand else _refiltered(each, inner)
            case Union(operands):
                several = tuple(map(visit, operands))
                return each if several == operands else replace(each, operands=several)
            case Pattern(parts):
                joined = tuple(replace(part, operand=visit(part.operand)) for part in parts)
                return each if joined == parts else replace(each, parts=joined)
            case Path(_, bindings):  # pragma: no branch - mypy knows that no case is left
                bound = tuple(replace(binding, operand=visit(binding.operand)) for binding in bindings)
                return each if bound == bindings else in_form(replace(each, bindings=bound))

    return tuple(map(visit, plan))


def _refiltered(each: Filter, operand: Algebra) -> Algebra:
    """Return a FILTER over another operand; over a scan it would read edges, so that it is one with what filters that."""
    if isinstance(operand, WScan) and not isinstance(each.operand, WScan):
        return filtered(operand, each.conditions)
    return replace(each, operand=operand)
