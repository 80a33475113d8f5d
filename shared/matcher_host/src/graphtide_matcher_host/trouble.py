"""Messages for users about plans that are limited, or less safe than they should be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from graphtide_core.ids import PatternName
    from graphtide_native.reports import PatternReport

_SETTINGS: Final = {"steps of work": "work", "partial match": "partial_matches", "bytes of state": "state_bytes"}
"""Members of `limits` by the words that a limit is described with."""


def trouble(report: PatternReport, unsaved: str) -> str:
    """Return the trouble of a running plan; empty if it has none."""
    limited = f"it gives up matches at its limit of {report.limit}" if report.limit and not report.paused else ""
    return "; ".join(each for each in (limited, f"its checkpoints are not saved: {unsaved}" if unsaved else "") if each)


def limit_reached(name: PatternName, report: PatternReport) -> str:
    """Return why a limit stopped a plan: the limit, the record, and what its user can do."""
    at = "" if report.limited_at is None else f" at the record of time {report.limited_at}"
    settings = [f"limits.{setting}" for words, setting in _SETTINGS.items() if words in report.limit]
    raised = f"raise {' or '.join(settings) or 'its limits'}"
    return (
        f"it reached its limit of {report.limit}{at}, after {report.work:,} steps of work; {raised}, or make the pattern more "
        f"selective or its window shorter, then resume it: graphtide resume {name}"
    )
