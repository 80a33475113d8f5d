"""Plans of a run with what the run saw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_query.explain import Actual, Explanation, explain

if TYPE_CHECKING:
    from graphtide.run import Run

_COUNTS = ("candidates", "discarded", "matches", "retractions", "peak_partial_matches", "state_bytes")


def explained(run: Run) -> list[Explanation]:
    """Lay open the plans of a run that was executed, the actual figures beside the estimates."""
    return [
        explain(
            plan,
            {item.name: Actual(item.peak, item.created) for item in report.items},
            {name: getattr(report, name) for name in _COUNTS},
        )
        for plan, report in zip(run.pipeline.plans, run.pipeline.matcher.patterns(), strict=True)
    ]
