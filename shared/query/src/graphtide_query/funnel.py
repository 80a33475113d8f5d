"""Write a match funnel for people and programs: what each step refused, and why there were no or few matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.funnel import Lack, Part, Reason, Step
from graphtide_core.time import TimeUnit, iso_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from graphtide_core.funnel import Answer, Funnel, NearMiss, Store

_PARTS = {
    Part.WHOLE: "",
    Part.ARRIVAL: " {} arrives",
    Part.LOOK_UP: " look up {}",
    Part.NEARBY: " nearby",
    Part.CONNECTED: " all connected",
    Part.REMAINDER: " what is left",
    Part.PAIRS: " pairs",
}
_REPORT = "match"
_FATES = ("created", "alive", "expired", "deleted", "given_up", "consumed")
_ALWAYS = ("looked at", "passed", "created", "alive", "expired")
"""Counts that are shown even if they are zero."""


@dataclass(frozen=True, slots=True)
class PatternTrace:
    """The trace of a pattern, with what is needed to describe it.

    Attributes:
        funnel: of the run.
        edges: the query edges as they are written, by name.
        nodes: names of the plan's nodes, inputs first.
        matches: matches reported.
        unit: of the stream's times; people see times, programs see numbers.
    """

    funnel: Funnel
    edges: Mapping[str, str]
    nodes: tuple[str, ...]
    matches: int
    unit: TimeUnit

    @property
    def without_candidates(self) -> tuple[str, ...]:
        """Names of the query edges that no record matches."""
        return tuple(name for name, step in self.funnel.edges.items() if step.passed == 0)


def table(trace: PatternTrace) -> list[list[str]]:
    """Return the funnel as a table with its head: the records, then the plan's steps; empty columns are left out."""
    rows = list(_rows(trace))
    columns = _columns(rows)
    return [["step", *columns], *([name, *(_format(counts.get(column)) for column in columns)] for name, counts in rows)]


def align(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as text: its first column to the left, the others to the right."""
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return [
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))])
        for line in lines
    ]


def why_not_lines(trace: PatternTrace) -> list[str]:
    """Return lines on why there was no match, or on near misses: first the query edges that no record matches."""
    lines = [] if trace.matches else ["the pattern has no match"]
    if not any(step.looked_at for step in trace.funnel.edges.values()):
        return [*lines, "the stream has no record"]
    lines += [f"edge {name}: {_lack(trace.edges[name], trace.funnel.edges[name])}" for name in trace.without_candidates]
    for miss in trace.funnel.misses:
        lines += _miss_lines(miss, len(trace.edges), trace.unit)
    for answer in trace.funnel.answers:
        lines += _answer_lines(answer, len(trace.edges), trace.unit)
    return [*lines, *(f"no record has the id {each}" for each in trace.funnel.unknown)]


def node_lines(trace: PatternTrace, node: str) -> list[str]:
    """Return a line for each step of a node: what it examined, and the fate of its partial matches."""
    lines = []
    for part, edge, step in _steps(trace.funnel, node):
        verb = _PARTS[part].format(edge).strip()
        refused = f" ({_reasons(step.refused)})" if step.refused else ""
        lines.append(f"{verb}{': ' if verb else ''}looked at {step.looked_at:,}, passed {step.passed:,}{refused}")
    store = trace.funnel.stores.get(node)
    if store is not None:
        fates = _fates(store).items()
        lines.append(", ".join(f"{_words(name)} {count:,}" for name, count in fates if count or name in _ALWAYS))
    return lines


def funnel_object(trace: PatternTrace) -> dict[str, object]:
    """Return the funnel for JSON: counts by query edge, by step and by node that stores partial matches."""
    funnel = trace.funnel
    return {
        "edges": {name: {**_counts(step), "discarded": funnel.discarded[name]} for name, step in funnel.edges.items()},
        "steps": [
            {"node": node, "part": part.value, "edge": edge, **_counts(step)}
            for node in trace.nodes
            for part, edge, step in _steps(funnel, node)
        ],
        "stores": {node: _fates(funnel.stores[node]) for node in trace.nodes if node in funnel.stores},
    }


def why_not_object(trace: PatternTrace) -> dict[str, object]:
    """Return for JSON why there was no match, or the near misses."""
    return {
        "matches": trace.matches,
        "edges_without_candidates": list(trace.without_candidates),
        "near_misses": [
            {
                "node": miss.node,
                "edges": {name: {"id": found, "ts": ts} for name, (found, ts) in miss.edges.items()},
                "vertices": dict(miss.vertices),
                "waited_for": list(miss.waited_for),
                "expired_at": miss.expired_at,
                "searched_at": miss.searched_at,
                "refused": {reason.value: count for reason, count in miss.refused.items()},
            }
            for miss in trace.funnel.misses
        ],
        **_answers_object(trace.funnel),
    }


def _answers_object(funnel: Funnel) -> dict[str, object]:
    """Return the fates of single edges; empty if there are none."""
    if not (funnel.answers or funnel.unknown):
        return {}
    return {"edges": [_answer_object(answer) for answer in funnel.answers], "unknown_ids": list(funnel.unknown)}


def _answer_object(answer: Answer) -> dict[str, object]:
    return {
        "id": answer.id,
        "ts": answer.ts,
        "src": answer.ends and answer.ends[0],
        "dst": answer.ends and answer.ends[1],
        "asked": answer.is_asked,
        "refused": {name: reason.value for name, reason in answer.refused.items()},
        "matched_at": answer.matched_at,
        "component": answer.component,
        "lacks": {
            name: {
                "reason": lack.reason.value,
                "edges": list(lack.edges),
                "vertex": lack.vertex and {lack.vertex[0]: lack.vertex[1]},
                "enters": lack.enters if lack.vertex else None,
                "there": list(lack.there),
                "after": lack.after,
            }
            for name, lack in answer.lacks.items()
        },
        "left": answer.left and answer.left[0].value,
        "left_at": answer.left and answer.left[1],
    }


def _rows(trace: PatternTrace) -> Iterator[tuple[str, dict[str, int]]]:
    funnel = trace.funnel
    for name, step in funnel.edges.items():
        discarded = funnel.discarded[name]
        yield f"records as {name}", {**_row(step), **({"discarded": discarded} if discarded else {})}
    for node in trace.nodes:
        steps = list(_steps(funnel, node))
        if not steps and node != _REPORT:
            yield node, _row(Step())
        for number, (part, edge, step) in enumerate(steps, start=1):
            store = funnel.stores.get(node) if number == len(steps) else None
            yield node + _PARTS[part].format(edge), {**_row(step), **(_fates(store) if store is not None else {})}
    yield _REPORT, {"passed": trace.matches}


def _steps(funnel: Funnel, node: str) -> Iterator[tuple[Part, str | None, Step]]:
    """Yield the steps of a node: an arrival before the look-ups, edges in the order of the pattern."""
    keys = [(node, part, edge) for part in Part for edge in (None, *funnel.edges)]
    return ((part, edge, funnel.steps[node, part, edge]) for _, part, edge in keys if (node, part, edge) in funnel.steps)


def _row(step: Step) -> dict[str, int]:
    refused = {_words(reason.value): count for reason, count in step.refused.items()}
    return {"looked at": step.looked_at, **refused, "passed": step.passed}


def _columns(rows: Iterable[tuple[str, Mapping[str, int]]]) -> list[str]:
    order = ["looked at", *(_words(reason.value) for reason in Reason), "passed", "discarded", *map(_words, _FATES)]
    used = {name for _, counts in rows for name, count in counts.items() if count}
    return [name for name in order if name in used or (name in _ALWAYS and ("created" in used or name not in _FATES))]


def _format(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def _fates(store: Store) -> dict[str, int]:
    return {name: getattr(store, name) for name in _FATES}


def _counts(step: Step) -> dict[str, object]:
    refused = {reason.value: count for reason, count in step.refused.items()}
    return {"looked_at": step.looked_at, "refused": refused, "passed": step.passed}


def _words(name: str) -> str:
    return name.replace("_", " ")


def _reasons(refused: Mapping[Reason, int]) -> str:
    return ", ".join(f"{_words(reason.value)} {count:,}" for reason, count in refused.items())


def _lack(drawn: str, step: Step) -> str:
    """Return why no record matches a query edge."""
    labelled = step.looked_at - step.refused.get(Reason.LABEL, 0)
    if labelled == 0:
        return f"no record has the labels of {drawn}"
    others: dict[Reason, int] = {reason: count for reason, count in step.refused.items() if reason is not Reason.LABEL}
    return f"{labelled:,} records have the labels of {drawn}, none is one: {_reasons(others)}"


def _miss_lines(miss: NearMiss, edges: int, unit: TimeUnit) -> list[str]:
    waited = ", ".join(miss.waited_for)
    tried = _reasons(miss.refused)
    if miss.searched_at is None:
        ended = f"waited for {waited} at {miss.node}: " + (f"tried in vain: {tried}" if tried else "nothing met it")
    else:
        looked = f"looked at in vain: {tried}" if tried else "nothing there"
        searched = iso_time(miss.searched_at, unit)
        ended = f"search at {searched} found no {waited} at {miss.node}: {looked}; it may have come later"
    return [
        f"{len(miss.edges)} of {edges} edges, {_end(miss, unit)}",
        *(f"  {line}" for line in _edge_lines(miss, unit)),
        f"  {ended}",
    ]


def _end(miss: NearMiss, unit: TimeUnit) -> str:
    return "pushed out by later edges" if miss.expired_at is None else f"expired at {iso_time(miss.expired_at, unit)}"


def _edge_lines(miss: NearMiss, unit: TimeUnit) -> Sequence[str]:
    edges = ", ".join(f"{name} = {found} at {iso_time(ts, unit)}" for name, (found, ts) in miss.edges.items())
    return edges, ", ".join(f"{name} = {found}" for name, found in miss.vertices.items())


_NAMED = 5
"""The most ids of a list that are shown to people."""


def _answer_lines(answer: Answer, edges: int, unit: TimeUnit) -> list[str]:
    """Return lines on the fate of one edge: whether it had a match, and if not, what it lacks as each query edge."""
    ends = f", from {answer.ends[0]} to {answer.ends[1]}" if answer.ends else ""
    head = f"edge {answer.id} at {iso_time(answer.ts, unit)}{ends}"
    if answer.matched_at is not None:
        return [f"{head}: in a match, first emitted at {iso_time(answer.matched_at, unit)}, oldest edge {answer.component}"]
    left = f", {_words(answer.left[0].value)} at {iso_time(answer.left[1], unit)}" if answer.left else ""
    lacks: dict[Lack, list[str]] = {}
    for name, lack in answer.lacks.items():
        lacks.setdefault(lack, []).append(name)
    refused: dict[Reason, list[str]] = {}
    for name, reason in answer.refused.items():
        refused.setdefault(reason, []).append(name)
    return [
        head + left,
        *(f"  not {_name_edges(names)}: {_words(reason.value)}" for reason, names in refused.items()),
        *(f"  as {_name_edges(names)}: {_lack_of(lack, unit)}" for lack, names in lacks.items()),
        *(["  not held: a limit was reached"] if answer.ends is None and len(answer.refused) < edges else []),
    ]


def _lack_of(lack: Lack, unit: TimeUnit) -> str:
    edges, there = _name_edges(lack.edges), _few(lack.there)
    query, data = lack.vertex or ("", "")
    verb = "enter" if lack.enters else "leave"
    match lack.reason:
        case Reason.ENDS:
            others = f" of {there}" if there else ""
            return f"{data} as {query} needs edges that {verb} it as {edges}, and none matches{others}"
        case Reason.DISTINCT:
            return f"{data} as {query} needs different edges that {verb} it as {edges}, and too few match of {there}"
        case Reason.ORDER:
            after = f" after {iso_time(lack.after, unit)}" if lack.after is not None else ""
            return f"nothing that it is connected with matches {edges}{after}"
        case _:
            return "what it needs never was there all at once"


def _name_edges(names: Sequence[str]) -> str:
    """Name query edges; of parallel ones, which are numbered, the first and the last."""
    runs: list[list[str]] = []
    for name in names:
        stem, _, number = name.rpartition("_")
        if runs and number.isdigit() and runs[-1][-1] == f"{stem}_{int(number) - 1}":
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
