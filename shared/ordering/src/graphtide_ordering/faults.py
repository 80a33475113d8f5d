"""Unforeseen faults, and their causes: the smallest part of what was tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from graphtide_core.errors import GraphtideError, UnreadableStreamError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Part = TypeVar("Part")

_LONGEST_REASON: Final = 500


def is_foreseen(error: BaseException) -> bool:
    """Whether opening again, or a person, deals with an error: it is not the fault of a record or a plan.

    A full disk and a lack of memory are such errors. A panic of native code is a `BaseException` outside of the typed errors.
    """
    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, OSError)):
        return True
    return isinstance(error, GraphtideError) and not isinstance(error, UnreadableStreamError)


def reason_of(error: BaseException) -> str:
    """Return the message of a fault, for people."""
    return f"{type(error).__name__}: {error}"[:_LONGEST_REASON]


def failing(parts: Sequence[Part], fault: Callable[[Sequence[Part]], str | None]) -> list[tuple[Part, str]]:
    """Return the parts that fail, each with the reason; if parts fail only together, all of those.

    Args:
        parts: one or more.
        fault: tries some parts apart from the others; returns why they fail, or None.

    Complexity: O(failing * log(parts)) tries.
    """
    reason = fault(parts)
    if reason is None:
        return []
    if len(parts) == 1:
        return [(parts[0], reason)]
    middle = len(parts) // 2
    found = [*failing(parts[:middle], fault), *failing(parts[middle:], fault)]
    return found or [(each, reason) for each in parts]
