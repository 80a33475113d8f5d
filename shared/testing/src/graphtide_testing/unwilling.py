"""A log that takes what is written and does not say so, as a broker does that is slow, or away."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphtide_core.errors import TransientError
from graphtide_log.memory import MemoryLog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.ports.log import LogWriter, Message


@dataclass
class Unwilling:
    """A log whose writers wait for a sign before they acknowledge, or never do."""

    of: MemoryLog = field(default_factory=MemoryLog)
    willing: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)
    refuses: bool = False
    is_there: bool = True

    def __getattr__(self, name: str) -> Any:
        """Be the log itself in all else."""
        return getattr(self.of, name)

    def ping(self) -> None:
        """Answer, if the log is there."""
        if not self.is_there:
            message = "the log does not answer"
            raise TransientError(message)

    def writer(self) -> LogWriter:
        """Return a writer that waits for the sign."""
        return _UnwillingWriter(self, self.of.writer())


@dataclass
class _UnwillingWriter:
    log: Unwilling
    of: LogWriter

    def write(self, messages: Iterable[Message]) -> None:
        self.of.write(messages)

    def flush(self, timeout: float) -> None:  # noqa: ARG002 - the port has it
        self.log.asked.set()
        if self.log.refuses:
            message = "the log does not answer"
            raise TransientError(message)
        self.log.willing.wait(10)

    def close(self) -> None:
        self.of.close()
