"""The progress bar of a run, on standard error where that is a terminal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from types import TracebackType

    from graphtide.run import Progress as Step


class ProgressBar:
    """Shows how far a run is, its rate and its matches so far; nothing where there is no terminal."""

    def __init__(self) -> None:
        """Prepare the bar; it appears on entering."""
        console = Console(stderr=True)
        self._bar: Progress | None = None
        if console.is_terminal:
            self._bar = Progress(
                SpinnerColumn(),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f}%"),
                TextColumn("{task.fields[records]:,} records"),
                TextColumn("{task.fields[rate]:,.0f}/s"),
                TextColumn("[bold]{task.fields[matches]:,} matches"),
                TimeElapsedColumn(),
                console=console,
                transient=True,
            )

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
