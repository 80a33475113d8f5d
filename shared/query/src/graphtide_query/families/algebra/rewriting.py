"""Rules applied everywhere in a plan: each step is one law at one place, wherever that expression stands.

Equal expressions are one, so that a step replaces all of them and what is shared stays shared. What is fixed, and everything in
it, is left as it is: the paths of a query are reported from expressions as they are written.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from graphtide_core.algebra import Filter, Path, Pattern, Union, WScan, distinct
from graphtide_core.path_expression import symbols
from graphtide_core.plans import Rewriting

from graphtide_query.families.algebra.ends import filter_ends
from graphtide_query.families.algebra.path_forms import in_form
from graphtide_query.families.algebra.rules import RULES, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Set

    from graphtide_core.algebra import Algebra
    from graphtide_core.graph_query import GraphQuery

    from graphtide_query.families.algebra.rules import Rule

Plan = tuple["Algebra", ...]
"""An expression for each output of a query."""


MOST_SYMBOLS: Final = 64
"""Symbols of a PATH that is still rewritten."""


def fixed_parts(query: GraphQuery, canonical: Plan) -> frozenset[Algebra]:
    """Return what must not be rewritten: outputs whose paths are reported, and all their parts."""
    returned = (each for each, output in zip(canonical, query.outputs, strict=True) if output.path is not None)
    return frozenset(part for each in returned for part in distinct(each))


def rewritings(plan: Plan, fixed: Set[Algebra] = frozenset(), rules: Sequence[Rule] = RULES) -> Iterator[tuple[str, Plan]]:
    """Yield each plan that one rule makes of a plan at one place, with the rule's name.

    A PATH of more than `MOST_SYMBOLS` symbols is no such place: what may be left out of it would grow with their square.
    Complexity: for each step, linear in the plan.
    """
    every = dict.fromkeys(each for expression in plan for each in distinct(expression) if each not in fixed)
    places = [each for each in every if not isinstance(each, Path) or _is_short(each)]
    for place in places:
        for rule in rules:
            for new in rule(place):
                if new != place:
                    yield name_of(rule), replace_expression(plan, place, new, fixed)


def _is_short(path: Path) -> bool:
    return next(islice(symbols(path.expression), MOST_SYMBOLS, None), None) is None


def number_rewritings(plan: Plan, fixed: Set[Algebra]) -> Iterator[tuple[Rewriting, Plan]]:
    """Yield what `rewritings` yields, each plan with the step that leads to it. Complexity: as of `rewritings`."""
    made: Counter[str] = Counter()
    for rule, new in rewritings(plan, fixed):
        yield Rewriting(rule, made[rule]), new
        made[rule] += 1


def patterns_of(plan: Plan) -> list[Pattern]:
    """Return the PATTERNs of a plan, each once, operands first."""
    every = dict.fromkeys(each for expression in plan for each in distinct(expression))
    return [each for each in every if isinstance(each, Pattern)]


def normalize(plan: Plan, fixed: Set[Algebra] = frozenset()) -> Plan:
    """Return the plan with its PATHs and their symbols called as rules call them; fixed ones keep their names."""
    known: dict[Algebra, Algebra] = {each: each for each in fixed}
    return tuple(_rebuild(each, known) for each in plan)


def replace_expression(plan: Plan, old: Algebra, new: Algebra, fixed: Set[Algebra] = frozenset()) -> Plan:
    """Return a plan with another expression wherever one stands, but in what is fixed."""
    known: dict[Algebra, Algebra] = {each: each for each in fixed}
    known[old] = new
    return tuple(_rebuild(each, known) for each in plan)


def _rebuild(expression: Algebra, known: dict[Algebra, Algebra]) -> Algebra:
    """Return an expression over what is known to replace its parts; of paths, in normal form, if `known` lacks them."""
    found = known.get(expression)
    if found is None:
        found = known[expression] = _over(expression, known)
    return found


def _over(expression: Algebra, known: dict[Algebra, Algebra]) -> Algebra:
    match expression:
        case WScan():
            return expression
        case Filter(operand):
            return _refilter(expression, _rebuild(operand, known))
        case Union(operands):
            return replace(expression, operands=tuple(_rebuild(each, known) for each in operands))
        case Pattern(parts):
            return replace(expression, parts=tuple(replace(part, operand=_rebuild(part.operand, known)) for part in parts))
        case Path(_, bindings):  # pragma: no branch - mypy knows that no case is left
            bound = (replace(binding, operand=_rebuild(binding.operand, known)) for binding in bindings)
            return in_form(replace(expression, bindings=tuple(bound)))


def _refilter(each: Filter, operand: Algebra) -> Algebra:
    """Return a FILTER over another operand; over a scan it would read edges, so that it is one with what filters that."""
    if isinstance(operand, WScan) and not isinstance(each.operand, WScan):
        return filter_ends(operand, each.conditions)
    return replace(each, operand=operand)
