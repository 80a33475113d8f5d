"""The queries of Table 1 over labels of a stream, and their plans by name.

Reference: paper 001, Table 1, and section 7.4 for the plans P1 to P3 of Q4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.algebra import Path, Pattern, WScan
from graphtide_core.errors import FatalError
from graphtide_core.graph_query import GraphQuery
from graphtide_core.plans import GraphPlan, PathEngine
from graphtide_query import parse
from graphtide_query.families import PlannerOptions
from graphtide_query.families.algebra.physical import compile_plan
from graphtide_query.families.algebra.planning import plan_graph_query
from graphtide_query.families.algebra.rewriting import fixed_parts, normalize, rewritings
from graphtide_query.families.algebra.translation import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.time import TimeUnit
    from graphtide_query.families.algebra.rewriting import Plan

QUERIES: Final = {
    "Q1": "Answer(x, y) <- /:{a}*/(x, y).",
    "Q2": "Answer(x, y) <- /:{a} :{b}*/(x, y).",
    "Q3": "Answer(x, y) <- /:{a} :{b}* :{c}*/(x, y).",
    "Q4": "Answer(x, y) <- /(:{a} :{b} :{c})+/(x, y).",
    "Q5": "RR(m1, m2) <- {a}(x, y), {b}(m1, x), {b}(m2, y), {c}(m2, m1).",
    "Q6": "RL(x, y) <- {a}+(x, y), {b}(x, m), {c}(m, y).",
    "Q7": "RL(x, y) <- {a}+(x, y), {b}(x, m), {c}(m, y). Answer(x, m) <- RL+(x, y), {c}(m, y).",
}
"""Their texts; `a`, `b` and `c` are labels. Q5 has `b(m2, y)` where Table 1 prints `c(m2, y)`, as LDBC IS7 does."""

PLANS: Final = ("canonical", "path", "P1", "P2", "P3", "searched")
"""Names of plans: `path` is one PATH over scans, which Q4 has as P1; a query has those of them that there are."""

_OTHERS: Final = {"Q2": ("path",), "Q3": ("path",), "Q4": ("P1", "P2", "P3")}
"""Plans of queries that rules lead to, beside the one that the search takes."""

_MOST: Final = 3_000
"""Plans that are looked through for those of a name."""


def query(name: str, labels: Mapping[str, str], window: str, slide: str) -> GraphQuery:
    """Return a query of Table 1.

    Raises:
        InvalidPatternError: a label or a duration is none.
    """
    quoted = {place: f"`{label}`" for place, label in labels.items()}
    (found,) = parse(f"QUERY {name} {QUERIES[name].format(**quoted)} ON stream WINDOW({window}) SLIDE({slide})")
    if not isinstance(found, GraphQuery):  # pragma: no cover - the texts above are of such
        message = f"{name} is not a streaming graph query"
        raise FatalError(message)
    return found


def plans(
    query: GraphQuery, names: tuple[str, ...], engine: PathEngine, known: StatisticsSnapshot, unit: TimeUnit
) -> Iterator[tuple[str, GraphPlan]]:
    """Yield the plans of a query that have the names, in their order; those that there are."""
    for name in names:
        if name == "canonical":
            yield name, GraphPlan(query, compile_plan(query, canonical(query), engine))
        elif name == "searched":
            yield name, plan_graph_query(query, PlannerOptions(engine.value), unit=unit, statistics=known)
        elif name in _OTHERS.get(query.name, ()):
            found = next(plan for plan in _list_plans(query) if _is_called(name, plan))
            yield name, GraphPlan(query, compile_plan(query, found, engine))


def _list_plans(query: GraphQuery) -> Iterator[Plan]:
    """Yield plans that rules lead to, the nearest to the canonical one first."""
    logical = canonical(query)
    fixed = fixed_parts(query, logical)
    waiting = [normalize(logical, fixed)]
    seen = set(waiting)
    for plan in waiting:
        yield plan
        for _, new in rewritings(plan, fixed):
            if new not in seen and len(seen) < _MOST:
                seen.add(new)
                waiting.append(new)


def _is_called(name: str, plan: Plan) -> bool:
    (whole,) = plan
    if not isinstance(whole, Path):
        return False
    kinds = [_kind(binding.operand) for binding in whole.bindings]
    match name:
        case "P2":
            return kinds == ["scan", "pattern"]
        case "P3":
            return kinds == ["pattern", "scan"]
        case _:
            return all(kind == "scan" for kind in kinds)


def _kind(operand: object) -> str:
    match operand:
        case WScan():
            return "scan"
        case Pattern(parts) if all(isinstance(part.operand, WScan) for part in parts):
            return "pattern"
        case _:
            return "other"
