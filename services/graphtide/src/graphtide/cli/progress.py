"""The progress bar of a run, on standard error where that is a terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress

    from graphtide.run import Progress as Step


class ProgressBar:
    """Shows how far a run is, its rate and its matches so far; shows nothing without a terminal."""

    def __init__(self) -> None:
        """Prepare the bar; it appears on entering."""
        self._bar: Progress | None = _bar() if sys.stderr.isatty() else None

    def __enter__(self) -> Self:
        """Show the bar."""
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("match", total=None, records=0, rate=0.0, matches=0)
            self._started = time.monotonic()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def update(self, step: Step) -> None:
        """Take how far the run is."""
        if self._bar is None:
            return
        rate = step.records / max(time.monotonic() - self._started, 1e-9)
        self._bar.update(
            self._task,
            total=step.bytes_total,
            completed=step.bytes_read,
            records=step.records,
            rate=rate,
            matches=step.matches,
        )


def _bar() -> Progress:
    # A run that shows nothing does without the library.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    return Progress(
        SpinnerColumn(),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[records]:,} records"),
        TextColumn("{task.fields[rate]:,.0f}/s"),
        TextColumn("[bold]{task.fields[matches]:,} matches"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
