"""What a plan does, for people and programs: text, JSON, DOT, Mermaid, SVG and HTML.

Estimates come from the cost model; after a run the actual figures stand beside them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from graphtide_core.plans import AGGREGATION
from graphtide_core.time import TimeUnit

from graphtide_query import picture
from graphtide_query.event_told import EventTold
from graphtide_query.families import engine_of
from graphtide_query.families.algebra.nodes import nodes as query_nodes
from graphtide_query.families.algebra.nodes import tree, written
from graphtide_query.families.events.grouping import unit_of
from graphtide_query.families.events.nodes import nodes as event_nodes
from graphtide_query.funnel import Told, aligned, funnel_object, node_lines, table, why_not_lines, why_not_object
from graphtide_query.markup import markup
from graphtide_query.nodes import Actual, Node, drawn
from graphtide_query.picture import Box, Drawing
from graphtide_query.query_told import PlanTold, query_lines, query_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphtide_core.funnel import Funnel
    from graphtide_core.plans import Candidate, GraphPlan, GroupedPlan, Plan
    from graphtide_core.plans.events import AggregationPlan


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan laid open.

    Attributes:
        pattern: name of the pattern.
        engine: name of the engine.
        settings: what else was chosen, by name.
        nodes: the steps, inputs first.
        counts: counts of a run, by name; empty before one.
        told: what was told of a run that was traced.
        considered: what the choice was made from, cheapest first; empty if there was none.
        logical: of a graph query, the expression of each output as lines, by the output's label.
        plans: of a graph query, what it could have computed, as text, cheapest first.
        engines: of a graph query, what could run it, with the nanoseconds of an edge, cheapest first.
    """

    pattern: str
    engine: str
    settings: Mapping[str, str]
    nodes: tuple[Node, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    told: Told | EventTold | None = None
    considered: tuple[Candidate, ...] = ()
    logical: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    plans: tuple[PlanTold, ...] = ()
    engines: Mapping[str, float] = field(default_factory=dict)


def explain(
    plan: Plan,
    actuals: Mapping[str, Actual] | None = None,
    counts: Mapping[str, int] | None = None,
    funnel: Funnel | None = None,
    unit: TimeUnit = TimeUnit.MILLISECOND,
) -> Explanation:
    """Lay a plan open.

    Args:
        plan: the plan.
        actuals: of a run, by the names of items.
        counts: of a run, with that of `matches` where there is a funnel.
        funnel: what was told of a run that was traced.
        unit: what times of the stream count.
    """
    engine = engine_of(plan.physical)
    settings = engine.settings(plan.pattern, plan.physical)
    chosen = next((each.partial_matches for each in plan.considered if each.physical == plan.physical), None)
    seen = actuals or {}
    steps = engine.nodes(plan.pattern, plan.physical, chosen)
    nodes = tuple(replace(node, actual=seen.get(node.name)) for node in steps)
    if plan.considered:
        estimates = (f"{c.physical.name} {_nanoseconds(c.nanoseconds)} ns an edge" for c in plan.considered)
        settings["considered"] = ", ".join(estimates)
    counts = counts or {}
    told = None
    if funnel is not None:
        edges = {edge.name: drawn(plan.pattern, edge) for edge in plan.pattern.edges}
        told = Told(funnel, edges, tuple(node.name for node in nodes), counts["matches"], unit)
    return Explanation(plan.pattern.name, plan.engine, settings, nodes, counts, told, plan.considered)


def explain_events(
    plan: AggregationPlan,
    patterns: Sequence[str],
    actuals: Mapping[str, Actual] | None = None,
    told: EventTold | None = None,
) -> Explanation:
    """Lay open the plan of many event patterns, a node a vertex.

    Args:
        plan: the plan.
        patterns: names of its patterns, in their order.
        actuals: of a run, by the names of nodes: `v0` and so on.
        told: what was told of a run that was traced.
    """
    shared = sum(len(vertex.sub_pattern.slots) - len(vertex.differential) for vertex in plan.vertices)
    settings = {"builder": plan.builder, "patterns": f"{len(patterns):,}", "slots from parents": f"{shared:,}"}
    return Explanation("event patterns", AGGREGATION, settings, event_nodes(plan, patterns, actuals or {}), told=told)


def explain_query(
    plan: GraphPlan, actuals: Mapping[str, Actual] | None = None, counts: Mapping[str, int] | None = None
) -> Explanation:
    """Lay open the plan of a streaming graph query, a node an operator, with the expressions that they compute.

    Args:
        plan: the plan.
        actuals: of a run, by the names of nodes: `o0` and so on.
        counts: of a run.
    """
    physical = plan.physical
    settings = {"rules": ", ".join(physical.rules) or "none: as the query is written"}
    both = zip(plan.query.outputs, physical.logical, strict=True)
    return Explanation(
        plan.query.name,
        plan.engine,
        settings,
        query_nodes(physical, actuals or {}),
        counts or {},
        logical={output.label: tree(each) for output, each in both},
        plans=tuple(
            PlanTold(tuple(map(written, each.logical)), each.nanoseconds, each.held, each.rules, each.rules == physical.rules)
            for each in plan.considered
        ),
        engines={each.engine.value: each.nanoseconds for each in plan.engines},
    )


def explain_grouped(plan: GroupedPlan, unit: TimeUnit, counts: Mapping[str, int]) -> Explanation:
    """Lay open how an event pattern is matched where others may share its sub-patterns: as it would be alone, and at what cost.

    Args:
        plan: the pattern, and how it is to be grouped.
        unit: what a tick of the stream's time is.
        counts: of what came of it; none where it did not run.
    """
    (alone,) = unit_of([plan], unit)
    found = explain_events(alone.unit.aggregation, [plan.pattern.name])
    settings = {"builder": plan.physical.builder, "shared": "with the event patterns of its host"}
    return replace(found, pattern=plan.pattern.name, settings=settings, counts=counts, considered=plan.considered)


def _nanoseconds(estimate: float) -> str:
    """Show an estimate; among many patterns one costs far less than a nanosecond."""
    return f"{estimate:,.1f}" if estimate >= 1 else f"{estimate:.2g}"


def to_text(explanations: Sequence[Explanation]) -> str:
    """Return the plans as indented text."""
    return "\n".join(line for explanation in explanations for line in _text_lines(explanation))


def to_json(explanations: Sequence[Explanation]) -> str:
    """Return the plans as a JSON array of objects."""
    return json.dumps(
        [
            {
                "pattern": explanation.pattern,
                "engine": explanation.engine,
                "settings": dict(explanation.settings),
                "considered": [_considered(each) for each in explanation.considered],
                **query_object(explanation.logical, explanation.plans, explanation.engines),
                "nodes": [
                    {
                        "name": node.name,
                        "does": node.does,
                        "inputs": list(node.inputs),
                        "estimate": node.estimate,
                        "actual": None if node.actual is None else _actual(node.actual),
                    }
                    for node in explanation.nodes
                ],
                "counts": dict(explanation.counts),
                **_told(explanation),
            }
            for explanation in explanations
        ],
        indent=2,
        ensure_ascii=False,
    )


def _considered(candidate: Candidate) -> dict[str, object]:
    return {
        "engine": candidate.physical.name,
        "nanoseconds": candidate.nanoseconds,
        "partial_matches": candidate.partial_matches,
        "reason": candidate.reason,
    }


def _reasons(explanation: Explanation) -> dict[str, str]:
    """Return why the plans that were considered cost what they cost, by engine, as far as it is known."""
    return {each.physical.name: each.reason for each in explanation.considered if each.reason}


def _told(explanation: Explanation) -> dict[str, object]:
    match explanation.told:
        case None:
            return {}
        case EventTold() as told:
            return {"funnel": told.funnel_object(), "why_not": told.why_not_object()}
        case Told() as told:  # pragma: no branch - mypy knows that no case is left
            return {"funnel": funnel_object(told), "why_not": why_not_object(told)}


def _funnel(explanation: Explanation) -> list[list[str]]:
    """Return the match funnel as a table, head first; nothing where there is none."""
    match explanation.told:
        case None:
            return []
        case EventTold() as told:
            return told.table(explanation.nodes)
        case Told() as told:  # pragma: no branch - mypy knows that no case is left
            return table(told)


def to_dot(explanations: Sequence[Explanation]) -> str:
    """Return the plans as one Graphviz digraph, a cluster a pattern."""
    lines = ["digraph plans {", "  rankdir=BT;", "  node [shape=box, fontname=monospace];"]
    for number, explanation in enumerate(explanations):
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label={_quoted(_title(explanation))};")
        for node in explanation.nodes:
            label = "\n".join(_node_lines(explanation, node))
            lines.append(f"    {_quoted(f'{number}/{node.name}')} [label={_quoted(label)}];")
            lines += [f"    {_quoted(f'{number}/{i}')} -> {_quoted(f'{number}/{node.name}')};" for i in node.inputs]
        if reasons := _why_not(explanation):
            # In a label, \\l ends a line that starts at the left.
            text = _quoted("\n".join(["why not", *reasons])).replace("\\n", "\\l")
            lines.append(f'    {_quoted(f"{number}/why not")} [shape=note, label={text[:-1]}\\l"];')
        lines.append("  }")
    return "\n".join([*lines, "}"])


def to_mermaid(explanations: Sequence[Explanation]) -> str:
    """Return the plans as one Mermaid flowchart, a subgraph a pattern."""
    lines = ["flowchart BT"]
    for number, explanation in enumerate(explanations):
        places = {node.name: f"n{number}_{place}" for place, node in enumerate(explanation.nodes)}
        lines.append(f"  subgraph g{number}[{_in_mermaid([_title(explanation)])}]")
        for node in explanation.nodes:
            lines.append(f"    {places[node.name]}[{_in_mermaid(_node_lines(explanation, node))}]")
            lines += [f"    {places[each]} --> {places[node.name]}" for each in node.inputs]
        lines.append("  end")
    return "\n".join(lines)


def to_svg(explanations: Sequence[Explanation]) -> str:
    """Return the plans as one picture, a box a node, the reported match at the bottom; nothing else is needed to draw it."""
    return picture.to_svg([_drawing(explanation, why_not=True) for explanation in explanations])


def to_html(explanations: Sequence[Explanation]) -> str:
    """Return the plans as a part of a page: settings and counts, the picture, the match funnel as a table, and why not."""
    parts = []
    for explanation in explanations:
        costs = {f"cost of {engine}": reason for engine, reason in _reasons(explanation).items()}
        facts = {**explanation.settings, **costs, **{_words(name): f"{value:,}" for name, value in explanation.counts.items()}}
        parts += [
            f"<h4>{markup(_title(explanation))}</h4>",
            _html_table([[name, value] for name, value in facts.items()]),
            f'<div style="overflow-x:auto">{picture.to_svg([_drawing(explanation, why_not=False)])}</div>',
        ]
        if plans := query_lines(explanation.logical, explanation.plans, explanation.engines):
            lines = "\n".join(plans)
            parts += ["<h5>plans</h5>", f"<pre>{markup(lines)}</pre>"]
        if funnel := _funnel(explanation):
            head, *rows = funnel
            parts += ["<h5>match funnel</h5>", _html_table(rows, head)]
        if reasons := _why_not(explanation):
            lines = "\n".join(reasons)
            parts += ["<h5>why not</h5>", f"<pre>{markup(lines)}</pre>"]
    inside = "\n".join(parts)
    return f'<div class="graphtide-plans">\n{inside}\n</div>'


def _drawing(explanation: Explanation, *, why_not: bool) -> Drawing:
    boxes = tuple(Box(node.name, node.inputs, tuple(_node_lines(explanation, node))) for node in explanation.nodes)
    reasons = _why_not(explanation) if why_not else []
    return Drawing(_title(explanation), boxes, ("why not", *reasons) if reasons else ())


def _html_table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    def line(cells: Sequence[str], kind: str) -> str:
        # Figures stand below each other; what a row is about does not.
        aligned = ("left", *("right" if head else "left" for _ in cells[1:]))
        drawn = (
            f'<{kind} style="text-align:{side}">{markup(cell)}</{kind}>' for cell, side in zip(cells, aligned, strict=True)
        )
        return f"<tr>{''.join(drawn)}</tr>"

    lines = [*([line(head, "th")] if head else []), *(line(row, "td") for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def _title(explanation: Explanation) -> str:
    return f"{explanation.pattern} ({explanation.engine})"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _why_not(explanation: Explanation) -> list[str]:
    match explanation.told:
        case None:
            return []
        case EventTold() as told:
            return told.why_not_lines()
        case Told() as told:  # pragma: no branch - mypy knows that no case is left
            return why_not_lines(told)


def _node_lines(explanation: Explanation, node: Node) -> list[str]:
    told = node_lines(explanation.told, node.name) if isinstance(explanation.told, Told) else []
    return [node.name, node.does, *_figures(node), *told]


def _text_lines(explanation: Explanation) -> list[str]:
    lines = [f"{explanation.pattern}: engine {explanation.engine}"]
    lines += [f"  {name}: {value}" for name, value in explanation.settings.items()]
    lines += [f"    {engine}: {reason}" for engine, reason in _reasons(explanation).items()]
    lines += [f"  {line}" for line in query_lines(explanation.logical, explanation.plans, explanation.engines)]
    width = max(len(node.name) for node in explanation.nodes) if explanation.nodes else 0
    does = max(len(node.does) for node in explanation.nodes) if explanation.nodes else 0
    for node in explanation.nodes:
        reads = f"  <- {', '.join(node.inputs)}" if node.inputs else ""
        figures = "  ".join(_figures(node))
        lines.append(f"  {node.name:<{width}}  {node.does:<{does}}  {figures}{reads}".rstrip())
    lines += [f"  {_words(name)}: {value:,}" for name, value in explanation.counts.items()]
    if funnel := _funnel(explanation):
        lines += ["", "  match funnel", *(f"    {line}".rstrip() for line in aligned(funnel))]
        if reasons := _why_not(explanation):
            lines += ["", "  why not", *(f"    {line}" for line in reasons)]
    return [*lines, ""]


def _figures(node: Node) -> list[str]:
    figures = []
    if node.estimate is not None:
        figures.append(f"estimated {node.estimate:,.3g}")
    if node.actual is not None:
        alive = f"alive {node.actual.alive:,}, " if node.actual.alive is not None else ""
        figures.append(f"actual {alive}peak {node.actual.peak:,}, created {node.actual.created:,}")
    return figures


def _actual(actual: Actual) -> dict[str, int]:
    figures = {"peak": actual.peak, "created": actual.created}
    return figures if actual.alive is None else {"alive": actual.alive, **figures}


def _in_mermaid(lines: Sequence[str]) -> str:
    """Return a label: Mermaid reads HTML in it, and has its own way to write what means something there."""
    return '"' + "<br/>".join("".join(_MERMAID.get(each, each) for each in line) for line in lines) + '"'


_MERMAID: Final = {"#": "#35;", "&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;"}
"""How Mermaid writes what means something in its labels."""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
