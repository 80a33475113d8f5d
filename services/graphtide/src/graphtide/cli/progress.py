"""Progress on standard error, where that is a terminal: what is done, how fast, and how long the rest takes.

A command updates its bar after every block of records, not after every record. The bar appears when a command has run for a
second, and leaves nothing behind. When a signal ends the command, the interrupt keeps what was done, which a line shows.
"""

from __future__ import annotations

import os
import sys
import time
from threading import Lock, Timer
from typing import TYPE_CHECKING, Final, Self

from graphtide.cli.quiet import is_quiet
from graphtide.wording import tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

    from rich.progress import Progress

    from graphtide.readers import Reader

_APPEARS: Final = 1.0
"""Seconds after which a bar appears: a command that ends before needs none."""

_BETWEEN: Final = 0.1
"""Seconds between two changes of what a bar shows."""

_MEGABYTE: Final = 1_000_000


class ProgressBar:
    """How far a command is. Use it as a context; `update` and `describe` say what changes.

    It is shown on a terminal alone, not by a quiet command, and not where results go to the same terminal.
    """

    def __init__(self, doing: str, *, parts: str = "bytes", writes: bool = False) -> None:
        """Prepare a bar.

        Args:
            doing: what is being done, in a word or two.
            parts: what the total counts, such as slices.
            writes: whether results go to standard output meanwhile.
        """
        self._doing, self._parts = doing, parts
        self._is_shown = sys.stderr.isatty() and not is_quiet() and not (writes and sys.stdout.isatty())
        self._counts: Mapping[str, int] = {}
        self._done = 0
        self._total: int | None = None
        self._bar: Progress | None = None
        self._ended = False
        self._lock = Lock()
        self._changed = 0.0

    def __enter__(self) -> Self:
        """Begin; the bar appears later."""
        self._started = time.monotonic()
        if self._is_shown:
            # Standard error may lead elsewhere for a while, as when Java starts.
            self._terminal = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding=sys.stderr.encoding)
            self._timer = Timer(_APPEARS, self._appear)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """Take the bar away; an interrupt keeps what was done."""
        if isinstance(value, KeyboardInterrupt):
            value.add_note(self.said())
        if not self._is_shown:
            return
        self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._bar is not None:
                self._bar.stop()
        self._terminal.close()

    def update(self, counts: Mapping[str, int], done: int = 0, total: int | None = None) -> None:
        """Take how far the command is; costs nothing without a terminal.

        Args:
            counts: numbers to show by what they count; the first has a rate.
            done: bytes, or parts, that are done.
            total: how many there are; None if nobody knows.
        """
        self._counts, self._done, self._total = counts, done, total
        if (bar := self._bar) is not None and (now := time.monotonic()) - self._changed >= _BETWEEN:
            self._changed = now
            self._show(bar)

    def update_from(self, reader: Reader, **counts: int) -> None:
        """Take how far a reader is, and counts beside its records."""
        self.update({"records": reader.records, **counts}, reader.bytes_read, reader.bytes_total)

    def describe(self, doing: str) -> None:
        """Say what is being done now."""
        self._doing = doing
        if self._bar is not None:
            self._show(self._bar)

    def said(self) -> str:
        """Return in words what was done: counts, else what was being done."""
        return tally(self._counts) or self._doing

    def _appear(self) -> None:
        # A command that shows nothing does without the library.
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        with self._lock:
            if self._ended:
                return
            bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.fields[said]}", markup=False),
                TimeElapsedColumn(),
                console=Console(file=self._terminal, force_terminal=True),
                transient=True,
                # Results on standard output are not the bar's.
                redirect_stdout=False,
            )
            self._task = bar.add_task(self._doing, total=None, said="")
            self._show(bar)
            bar.start()
            # However the process ends, the cursor of the terminal is seen.
            bar.console.show_cursor()
            self._bar = bar

    def _show(self, bar: Progress) -> None:
        bar.update(
            self._task,
            description=self._doing,
            total=self._total,
            completed=self._done,
            said=", ".join(self._words(time.monotonic() - self._started)),
        )

    def _words(self, seconds: float) -> Iterator[str]:
        """Yield the share that is done, the counts, the rate of the first, and the time left, as far as they are known."""
        if self._total:
            yield f"{100 * self._done // self._total}% of {_size(self._total, self._parts)}"
        for place, (what, number) in enumerate(self._counts.items()):
            yield tally({what: number})
            if place == 0:
                yield f"{number / max(seconds, 1e-9):,.0f}/s"
        if self._total and self._done:
            yield f"{_seconds(seconds * max(0, self._total - self._done) / self._done)} left"


def _size(total: int, parts: str) -> str:
    if parts != "bytes":
        return f"{total:,} {parts}"
    return f"{total:,} bytes" if total < _MEGABYTE else f"{total / _MEGABYTE:,.0f} MB"


def _seconds(seconds: float) -> str:
    whole = round(seconds)
    minutes, hours = whole // 60, whole // 3_600
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"
