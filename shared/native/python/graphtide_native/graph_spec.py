"""Plans of streaming graph queries as the native engine reads them: variables by position, durations by ticks.

The format is private to this package: `graphtide_algebra::plan` reads what is written here, and `graphtide_match::plan` the
query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.merged_streams import whole_of
from graphtide_core.plans.algebra import JoinOperator, PathOperator, ScanOperator, UnionOperator
from graphtide_core.time import MAX_EVENT_TIME

from graphtide_native.expression_spec import LABEL_COLUMNS, ExpressionWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core import predicate as p
    from graphtide_core.graph_query import Output
    from graphtide_core.plans.algebra import AlgebraPlan, GraphPlan, ReportedOperator, TracedPath
    from graphtide_core.time import TimeUnit

    from graphtide_native.expression_spec import Json


def graph_query_spec(plan: GraphPlan, number: int | None, unit: TimeUnit, projected: Sequence[str]) -> dict[str, object]:
    """Return a query with its plan as the native matcher reads it.

    Args:
        plan: of the query.
        number: of the query in the matcher; None where it gives one.
        unit: what a tick of the stream's time is.
        projected: the attributes of the batches to come, in order.
    """
    return {
        "number": number,
        "name": whole_of(plan.query.name),
        "version": plan.query.version,
        "plan": _plan(plan, unit, {name: place for place, name in enumerate(projected)}),
    }


def _plan(plan: GraphPlan, unit: TimeUnit, columns: Mapping[str, int]) -> dict[str, object]:
    scans = [operator for operator in plan.physical.operators if isinstance(operator, ScanOperator)]
    numbers = {scan: number for number, scan in enumerate(scans)}
    writer = _EdgeWriter(columns, unit)
    both = zip(plan.query.outputs, plan.physical.outputs, strict=True)
    return {
        "inputs": [_input(scan, unit, writer) for scan in scans],
        "operators": [_operator(operator, numbers, unit) for operator in plan.physical.operators],
        "labels": [_label(operator) for operator in plan.physical.operators],
        "outputs": [_output(*each, plan.physical, stays=plan.query.results_stay) for each in both],
    }


def _input(scan: ScanOperator, unit: TimeUnit, writer: _EdgeWriter) -> dict[str, object]:
    # Past that no two times can be apart.
    slide = min(scan.window.step(unit), MAX_EVENT_TIME)
    return {
        "stream": scan.window.stream,
        "label": scan.label,
        "source_label": scan.source_label,
        "target_label": scan.target_label,
        "conditions": [writer.write(condition) for condition in scan.conditions],
        "length": max(slide, min(scan.window.lookback(unit), MAX_EVENT_TIME)),
        "slide": slide,
    }


def _operator(
    operator: ScanOperator | UnionOperator | JoinOperator | PathOperator, scans: Mapping[ScanOperator, int], unit: TimeUnit
) -> Json:
    match operator:
        case ScanOperator():
            return {"operator": "scan", "input": scans[operator]}
        case UnionOperator(operands):
            return {"operator": "union", "operands": list(operands)}
        case JoinOperator():
            slots = {name: slot for slot, name in enumerate(operator.variables)}
            return {
                "operator": "join",
                "parts": [
                    {"operand": part.operand, "slots": [slots[name] for name in part.variables]} for part in operator.parts
                ],
                "slots": len(slots),
                "constants": [[slots[name], key] for name, key in operator.constants],
                "columns": [slots[name] for name in operator.columns],
                "conditions": [_VertexWriter(slots, unit).write(condition) for condition in operator.conditions],
            }
        case PathOperator():  # pragma: no branch - mypy knows that no case is left
            return {
                "operator": "path",
                "symbols": [list(symbol) for symbol in operator.symbols],
                "states": operator.automaton.states,
                "transitions": [list(each) for each in operator.automaton.transitions],
                "accepting": list(operator.automaton.accepting),
                "root": operator.root,
                "is_reversed": operator.is_reversed,
                "engine": operator.engine.value,
            }


def _label(operator: ScanOperator | UnionOperator | JoinOperator | PathOperator) -> str:
    return (operator.label or "any") if isinstance(operator, ScanOperator) else operator.label


def _output(output: Output, reported: ReportedOperator, plan: AlgebraPlan, *, stays: bool) -> dict[str, object]:
    return {
        "operator": reported.operator,
        "label": output.label,
        "columns": list(output.columns),
        "is_appended": stays,
        "paths": [_path(path, plan) for path in reported.paths],
    }


def _path(path: TracedPath, plan: AlgebraPlan) -> dict[str, object]:
    join = None if path.join is None else plan.operators[path.join]
    # Where no join says more, the path is from the first column to the second.
    ends = [0, 1] if not isinstance(join, JoinOperator) else [join.variables.index(end) for end in path.ends]
    return {"operator": path.operator, "join": path.join, "ends": ends, "is_edge": path.is_edge}


@dataclass(frozen=True, slots=True)
class _EdgeWriter(ExpressionWriter):
    """Writes conditions on the edge `e`, which is edge 0 and has its ends with it."""

    columns: Mapping[str, int]
    unit: TimeUnit

    def attribute(self, attribute: p.Attribute) -> Json:
        """Return what an attribute of the edge is read from."""
        match attribute.name:
            case "ts":
                return {"ts": 0}
            case "id":
                return {"id": 0}
            case "src":
                return {"end": [0, 0]}
            case "dst":
                return {"end": [0, 1]}
            case name if name in LABEL_COLUMNS:
                return {"attribute": [0, LABEL_COLUMNS[name]]}
            case name:
                return {"attribute": [0, self.columns[name]]}

    def aggregate(self, aggregate: p.Aggregate) -> Json:
        """Refuse: a query has been checked for them."""
        message = f"a condition of a graph query has {aggregate.function.value}"
        raise ValueError(message)


@dataclass(frozen=True, slots=True)
class _VertexWriter(ExpressionWriter):
    """Writes conditions on the ids of a join's variables."""

    slots: Mapping[str, int]
    unit: TimeUnit

    def attribute(self, attribute: p.Attribute) -> Json:
        """Return what the id of a variable is read from."""
        return {"vertex_id": self.slots[attribute.variable]}

    def aggregate(self, aggregate: p.Aggregate) -> Json:
        """Refuse: a query has been checked for them."""
        message = f"a condition of a graph query has {aggregate.function.value}"
        raise ValueError(message)
