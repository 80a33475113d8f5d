"""Explain plans for people and programs: as text, JSON, DOT, Mermaid, SVG and HTML.

Estimates come from the cost model; after a run, actual counts are beside them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from graphtide_core.time import TimeUnit

from graphtide_query import picture
from graphtide_query.event_trace import EventTrace
from graphtide_query.explanation import Explanation, Seen
from graphtide_query.families import FAMILIES, family_of
from graphtide_query.funnel import PatternTrace, align, funnel_object, node_lines, table, why_not_lines, why_not_object
from graphtide_query.markup import markup
from graphtide_query.picture import Box, Drawing
from graphtide_query.plan_candidate import query_lines, query_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphtide_core.ids import PatternName
    from graphtide_core.plans import AnyPlan, Candidate, CountedPart

    from graphtide_query.explanation import UnitFunnel
    from graphtide_query.locality import Locality
    from graphtide_query.nodes import Actual, Node

__all__ = [
    "Explanation",
    "Seen",
    "explain",
    "explain_all",
    "to_dot",
    "to_html",
    "to_json",
    "to_mermaid",
    "to_svg",
    "to_text",
    "with_evidence",
    "with_localities",
]


def explain(plan: AnyPlan, seen: Seen | None = None, unit: TimeUnit = TimeUnit.MILLISECOND) -> Explanation:
    """Explain a plan; for event patterns, that of the whole unit. Arguments as of `explain_all`."""
    (found,) = family_of(plan.pattern).explain([plan], [seen], unit, _nothing)
    return _with_annotations(found, [plan])


def explain_all(
    plans: Sequence[AnyPlan],
    seen: Sequence[Seen | None],
    unit: TimeUnit = TimeUnit.MILLISECOND,
    unit_funnel: UnitFunnel | None = None,
) -> tuple[Explanation, ...]:
    """Explain the plans of a pass: first the patterns that are matched by themselves, then each unit once.

    Args:
        plans: the plans.
        seen: the run of each; None without a run.
        unit: of the stream's times.
        unit_funnel: maps the names of the patterns of a unit to the trace of a run.
    """
    unit_funnel = unit_funnel or _nothing
    found: list[Explanation] = []
    united: dict[str, list[int]] = {}
    for place, plan in enumerate(plans):
        family = family_of(plan.pattern)
        if family.is_united:
            united.setdefault(family.name, []).append(place)
        else:
            found += [_with_annotations(each, [plan]) for each in family.explain([plan], [seen[place]], unit, unit_funnel)]
    for name, places in united.items():
        of_family = [plans[place] for place in places]
        explained = FAMILIES[name].explain(of_family, [seen[place] for place in places], unit, unit_funnel)
        found += [_with_annotations(each, of_family) for each in explained[:1]] + list(explained[1:])
    return tuple(found)


def _with_annotations(explanation: Explanation, plans: Sequence[AnyPlan]) -> Explanation:
    """Return an explanation with what the patterns say of themselves; of a unit's, by their names."""
    said: dict[str, str] = {}
    for plan in plans:
        of = "" if len(plans) == 1 else f" of {plan.pattern.name}"
        annotations = plan.pattern.annotations
        texts = {
            "description": annotations.description,
            "severity": annotations.severity and annotations.severity.value,
            "tags": ", ".join(annotations.tags),
            "message": annotations.message,
        }
        said |= {f"{name}{of}": text for name, text in texts.items() if text}
    return replace(explanation, settings={**explanation.settings, **said}) if said else explanation


def with_evidence(explanation: Explanation, evidence: Sequence[CountedPart]) -> Explanation:
    """Return an explanation that also says which estimates were found wrong on a running plan."""
    if not evidence:
        return explanation
    counted = "; ".join(
        f"{', '.join(each.edges)} estimated {each.estimated:,.3g}, counted {each.counted:,.0f}" for each in evidence
    )
    return replace(explanation, settings={**explanation.settings, "counted": counted})


def with_localities(explanations: Sequence[Explanation], localities: Mapping[str, Locality]) -> tuple[Explanation, ...]:
    """Return explanations that also say where patterns on streams in parts are matched.

    Args:
        explanations: of all patterns; patterns of a unit have one together.
        localities: of the patterns whose stream is in parts, by their names.
    """
    own = {each.pattern for each in explanations}
    united = {f"parts of {name}": str(each) for name, each in localities.items() if name not in own}
    found = []
    for each in explanations:
        if each.pattern in localities:
            said = {"parts": str(localities[each.pattern])}
        else:
            said, united = united, {}
        found.append(replace(each, settings={**said, **each.settings}) if said else each)
    return tuple(found)


def with_sharing(explanations: Sequence[Explanation], sharing: Mapping[str, str]) -> tuple[Explanation, ...]:
    """Return explanations that also say what patterns search for together; `sharing` says it by their names."""
    return tuple(
        replace(each, settings={"shared": sharing[each.pattern], **each.settings}) if each.pattern in sharing else each
        for each in explanations
    )


def _nothing(_names: Sequence[PatternName]) -> None:
    """Return no trace: no run was traced."""


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
                "considered": [_describe_candidate(each) for each in explanation.considered],
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
                **_trace_object(explanation),
            }
            for explanation in explanations
        ],
        indent=2,
        ensure_ascii=False,
    )


def _describe_candidate(candidate: Candidate) -> dict[str, object]:
    return {
        "engine": candidate.physical.name,
        "nanoseconds": candidate.nanoseconds,
        "partial_matches": candidate.partial_matches,
        "reason": candidate.reason,
    }


def _reasons(explanation: Explanation) -> dict[str, str]:
    """Return the known reasons for the costs of the considered plans, by engine."""
    return {each.physical.name: each.reason for each in explanation.considered if each.reason}


def _trace_object(explanation: Explanation) -> dict[str, object]:
    match explanation.trace:
        case None:
            return {}
        case EventTrace() as trace:
            return {"funnel": trace.funnel_object(), "why_not": trace.why_not_object()}
        case PatternTrace() as trace:  # pragma: no branch - mypy knows that no case is left
            return {"funnel": funnel_object(trace), "why_not": why_not_object(trace)}


def _funnel(explanation: Explanation) -> list[list[str]]:
    """Return the match funnel as a table with its head; empty if there is none."""
    match explanation.trace:
        case None:
            return []
        case EventTrace() as trace:
            return trace.table(explanation.nodes)
        case PatternTrace() as trace:  # pragma: no branch - mypy knows that no case is left
            return table(trace)


def to_dot(explanations: Sequence[Explanation]) -> str:
    """Return the plans as one Graphviz digraph, with a cluster for each pattern."""
    lines = ["digraph plans {", "  rankdir=BT;", "  node [shape=box, fontname=monospace];"]
    for number, explanation in enumerate(explanations):
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label={_quote(_title(explanation))};")
        for node in explanation.nodes:
            label = "\n".join(_node_lines(explanation, node))
            lines.append(f"    {_quote(f'{number}/{node.name}')} [label={_quote(label)}];")
            lines += [f"    {_quote(f'{number}/{i}')} -> {_quote(f'{number}/{node.name}')};" for i in node.inputs]
        if reasons := _why_not(explanation):
            # In a label, \\l ends a left-aligned line.
            text = _quote("\n".join(["why not", *reasons])).replace("\\n", "\\l")
            lines.append(f'    {_quote(f"{number}/why not")} [shape=note, label={text[:-1]}\\l"];')
        lines.append("  }")
    return "\n".join([*lines, "}"])


def to_mermaid(explanations: Sequence[Explanation]) -> str:
    """Return the plans as one Mermaid flowchart, with a subgraph for each pattern."""
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
    """Return the plans as one self-contained picture, with a box for each node and the reported match at the bottom."""
    return picture.to_svg([_drawing(explanation, why_not=True) for explanation in explanations])


def to_html(explanations: Sequence[Explanation]) -> str:
    """Return the plans as a fragment of HTML: settings and counts, the picture, the match funnel as a table, and why not."""
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
        # Align numbers to the right and the name of a row to the left.
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
    match explanation.trace:
        case None:
            return []
        case EventTrace() as trace:
            return trace.why_not_lines()
        case PatternTrace() as trace:  # pragma: no branch - mypy knows that no case is left
            return why_not_lines(trace)


def _node_lines(explanation: Explanation, node: Node) -> list[str]:
    trace = node_lines(explanation.trace, node.name) if isinstance(explanation.trace, PatternTrace) else []
    return [node.name, node.does, *_counts(node), *trace]


def _text_lines(explanation: Explanation) -> list[str]:
    lines = [f"{explanation.pattern}: engine {explanation.engine}"]
    lines += [f"  {name}: {value}" for name, value in explanation.settings.items()]
    lines += [f"    {engine}: {reason}" for engine, reason in _reasons(explanation).items()]
    lines += [f"  {line}" for line in query_lines(explanation.logical, explanation.plans, explanation.engines)]
    width = max(len(node.name) for node in explanation.nodes) if explanation.nodes else 0
    does = max(len(node.does) for node in explanation.nodes) if explanation.nodes else 0
    for node in explanation.nodes:
        reads = f"  <- {', '.join(node.inputs)}" if node.inputs else ""
        counts = "  ".join(_counts(node))
        lines.append(f"  {node.name:<{width}}  {node.does:<{does}}  {counts}{reads}".rstrip())
    lines += [f"  {_words(name)}: {value:,}" for name, value in explanation.counts.items()]
    if funnel := _funnel(explanation):
        lines += ["", "  match funnel", *(f"    {line}".rstrip() for line in align(funnel))]
        if reasons := _why_not(explanation):
            lines += ["", "  why not", *(f"    {line}" for line in reasons)]
    return [*lines, ""]


def _counts(node: Node) -> list[str]:
    counts = []
    if node.estimate is not None:
        counts.append(f"estimated {node.estimate:,.3g}")
    if node.actual is not None:
        alive = f"alive {node.actual.alive:,}, " if node.actual.alive is not None else ""
        counts.append(f"actual {alive}peak {node.actual.peak:,}, created {node.actual.created:,}")
    return counts


def _actual(actual: Actual) -> dict[str, int]:
    counts = {"peak": actual.peak, "created": actual.created}
    return counts if actual.alive is None else {"alive": actual.alive, **counts}


def _in_mermaid(lines: Sequence[str]) -> str:
    """Return a label: Mermaid reads HTML in it, and escapes special characters in its own way."""
    return '"' + "<br/>".join("".join(_MERMAID.get(each, each) for each in line) for line in lines) + '"'


_MERMAID: Final = {"#": "#35;", "&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;"}
"""How Mermaid escapes special characters in labels."""


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
