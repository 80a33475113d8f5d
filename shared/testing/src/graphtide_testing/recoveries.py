"""Tests report how long recoveries took; they are listed when all have run."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

RECOVERY = "recovery_seconds of "
"""What the names of such properties of tests begin with; what crashed follows."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List median, least and greatest."""
    found: dict[str, list[float]] = {}
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name.startswith(RECOVERY):
                found.setdefault(name.removeprefix(RECOVERY), []).append(float(str(value)))
    if not found:
        return
    terminalreporter.section("seconds from a crash to the first progress after it")
    for name, seconds in sorted(found.items()):
        reported = f"{statistics.median(seconds):.1f} ({min(seconds):.1f} to {max(seconds):.1f} in {len(seconds)})"
        terminalreporter.write_line(f"{name:50} {reported}")
