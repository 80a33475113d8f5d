"""Explain a streaming graph query: the expressions that it computes, and the plans that were compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class PlanCandidate:
    """A candidate plan of a graph query: its expressions, its estimates, and whether it was chosen."""

    written: tuple[str, ...]
    nanoseconds: float
    held: float
    rules: tuple[str, ...]
    is_chosen: bool


def query_object(
    logical: Mapping[str, Sequence[str]], plans: Sequence[PlanCandidate], engines: Mapping[str, float]
) -> dict[str, object]:
    """Return the members that only graph queries have; empty for others."""
    if not logical:
        return {}
    weighed = [
        {
            "logical": list(each.written),
            "nanoseconds": each.nanoseconds,
            "held": each.held,
            "rules": list(each.rules),
            "is_chosen": each.is_chosen,
        }
        for each in plans
    ]
    return {
        "logical": {label: list(lines) for label, lines in logical.items()},
        "plans": weighed,
        "engines": dict(engines),
    }


def query_lines(
    logical: Mapping[str, Sequence[str]], plans: Sequence[PlanCandidate], engines: Mapping[str, float]
) -> list[str]:
    """Return the expressions of a graph query as a tree, and the plans and engines that were compared."""
    lines: list[str] = []
    for label, expression in logical.items():
        lines += [f"{label}:", *(f"  {line}" for line in expression)]
    if plans:
        lines.append("plans that were compared, by nanoseconds an edge and what they hold:")
    for each in plans:
        mark = "*" if each.is_chosen else " "
        rules = f"  by {', '.join(each.rules)}" if each.rules else "  as the query is written"
        lines.append(f"{mark} {each.nanoseconds:>12,.1f} {each.held:>12,.3g}{rules}: {'; '.join(each.written)}")
    if engines:
        reported = ", ".join(f"{name} {nanoseconds:,.1f}" for name, nanoseconds in engines.items())
        lines.append(f"engines that were compared, by nanoseconds an edge: {reported}")
    return lines
