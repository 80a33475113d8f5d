"""Whether a process lives and can do its work.

It lives while every loop of it makes rounds: a loop without rounds for long hangs, and only a new process helps. It is ready
when every worker is open, so that it has its state, and the log answers. A passing failure makes it unready, never dead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.errors import GraphtideError

if TYPE_CHECKING:
    from graphtide_core.ports.clock import Clock

STUCK_SECONDS: Final = 120.0
"""How long a loop may be silent: longer than every deadline of the log and of checkpoints."""


class Finding(NamedTuple):
    """The result of a check: what was checked, and what is wrong with it; None if nothing is.

    A `note` is for people: something is odd, and a new process or fewer requests would not help.
    """

    name: str
    wrong: str | None = None
    note: str | None = None

    @property
    def summary(self) -> str:
        """Return the finding, in words."""
        return self.wrong or ("ok" if self.note is None else f"ok, but {self.note}")


class Pulse:
    """The signs of life of one worker's loop; written by its thread, read by others."""

    def __init__(self, name: str, clock: Clock, stuck_seconds: float = STUCK_SECONDS) -> None:
        """Begin before the first round."""
        self.name = name
        self._clock = clock
        self._stuck_seconds = stuck_seconds
        self._beat_at = clock.monotonic()
        self._waits_for: str | None = "it is not open yet"
        self._failing_since: str | None = None
        self._ended: str | None = None
        self._note: str | None = None

    def beat(self) -> None:
        """Note that the loop runs."""
        self._beat_at = self._clock.monotonic()

    def did_round(self) -> None:
        """Note a round of an open worker."""
        self._waits_for = self._failing_since = None
        self.beat()

    def failed(self, reason: str) -> None:
        """Note that the worker is to be opened again; it stands still since the first of failures in a row."""
        if self._failing_since is None:
            self._failing_since = self._clock.now().isoformat(timespec="seconds")
        self._waits_for = f"{reason} (stands still since {self._failing_since})"
        self.beat()

    def note(self, note: str | None) -> None:
        """Note what is odd about the work, or that nothing is."""
        self._note = note

    def end(self, reason: str) -> None:
        """Note that the loop has ended; only readiness reports it, since its owner ended it."""
        self._ended = reason

    def alive(self) -> Finding:
        """Return whether the loop makes rounds."""
        silent = self._clock.monotonic() - self._beat_at
        if self._ended is None and silent > self._stuck_seconds:
            return Finding(self.name, f"no sign of life for {silent:.0f} seconds")
        return Finding(self.name)

    def ready(self) -> Finding:
        """Return whether the worker is open and does rounds."""
        return Finding(self.name, self._ended or self._waits_for, self._note)

    def ready_beside_others(self) -> Finding:
        """Return the same of work whose failure does not stop others: it is a note then, with its reason."""
        if self._ended is not None or self._failing_since is None:
            return self.ready()
        return Finding(self.name, note=f"it fails: {self._waits_for}")


Look = Callable[[], Iterable[Finding]]
"""Checks a process now; may block for as long as the log takes to answer."""

CURRENT: ContextVar[Pulse | None] = ContextVar("pulse", default=None)
"""The pulse of the worker at work in this thread."""


def beat() -> None:
    """Note that the worker of this thread makes progress; for long work within a round, such as reading a window again."""
    pulse = CURRENT.get()
    if pulse is not None:
        pulse.beat()


def note(text: str | None) -> None:
    """Note what is odd about the work of this thread, or that nothing is."""
    pulse = CURRENT.get()
    if pulse is not None:
        pulse.note(text)


def check(name: str, check: Callable[[], None]) -> Finding:
    """Return the finding of a check: None, or the `GraphtideError` that it raises."""
    try:
        check()
    except GraphtideError as error:
        return Finding(name, str(error))
    return Finding(name)
