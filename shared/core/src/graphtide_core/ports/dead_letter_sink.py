"""Where records go that cannot be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A rejected record: its 1-based position in the input, why, and its bytes as they came."""

    line: int
    reason: str
    raw: bytes


class DeadLetterSink(Protocol):
    """Takes dead letters; must not lose one that `write` accepted."""

    def write(self, letter: DeadLetter) -> None:
        """Keep the letter."""
        ...

    def flush(self) -> None:
        """Let others see what was written."""
        ...
