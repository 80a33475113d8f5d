"""Whether the native matcher takes a plan, before anything is made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_native import _native
from graphtide_native.kinds import by_kind
from graphtide_native.spec import Concurrency, columns, encode_graph_query, encode_one, encode_unit

if TYPE_CHECKING:
    from graphtide_core.plans import AnyPlan, EventPlan, GraphPlan, Plan
    from graphtide_core.time import TimeUnit

    from graphtide_native.spec import Limits


def flaw(plan: AnyPlan, unit: TimeUnit, limits: Limits) -> str | None:
    """Return why a matcher would refuse a plan; None if it takes it.

    Nothing is made for that, but that of an event pattern: its unit is checked as a whole, which is as costly as making it.
    """

    def check_edges(own: Plan) -> None:
        _native.check_pattern(encode_one(own, unit, columns([own.pattern]), limits, Concurrency()))

    def check_unit(own: EventPlan) -> None:
        _native.check_unit(encode_unit(own.unit, unit, columns(own.unit.patterns), limits))

    def check_query(own: GraphPlan) -> None:
        _native.check_graph_query(encode_graph_query(own, unit, own.query.attributes, limits))

    try:
        by_kind(plan, edges=check_edges, events=check_unit, query=check_query)
    except ValueError as error:
        return str(error)
    return None
