"""Calls are counted whenever the next look comes, and the profiler ends with the act."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

from graphtide_testing import work

if TYPE_CHECKING:
    import pytest


def test_a_look_after_the_act_leaves_no_profiler_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal comes between the end of the act and that of the timer, as it may on a busy machine."""
    set_timer = signal.setitimer

    def set_late(which: int, seconds: float, interval: float = 0.0) -> tuple[float, float]:
        if not seconds:
            signal.raise_signal(signal.SIGVTALRM)
        return set_timer(which, seconds, interval)

    monkeypatch.setattr(signal, "setitimer", set_late)
    for _ in range(2):
        assert work.calls(lambda: [abs(each) for each in range(100)], most=1_000) >= 100
        assert sys.getprofile() is None
