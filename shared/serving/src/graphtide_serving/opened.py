"""What workers hold while they are open: asked for by each round, given back at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from graphtide_core.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Iterable

_Held = TypeVar("_Held")


class Closing(Protocol):
    """What is given back by being closed."""

    def close(self) -> None:
        """Give it back."""
        ...


def opened(held: _Held | None, worker: str) -> _Held:
    """Return what a worker holds.

    Raises:
        TransientError: it is not open; its loop opens it again.
    """
    if held is None:
        message = f"{worker} is not open"
        raise TransientError(message)
    return held


def close_all(held: Iterable[Closing | None]) -> None:
    """Close what is held, in this order."""
    for each in held:
        if each is not None:
            each.close()
