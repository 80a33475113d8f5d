"""Resources of workers while they are open: each round asks for them, and the end closes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from graphtide_core.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Iterable

_Held = TypeVar("_Held")


class Closing(Protocol):
    """A resource that is closed at the end."""

    def close(self) -> None:
        """Close it."""
        ...


def open_worker(held: _Held | None, worker: str) -> _Held:
    """Return the resources of a worker.

    Raises:
        TransientError: it is not open; its loop opens it again.
    """
    if held is None:
        message = f"{worker} is not open"
        raise TransientError(message)
    return held


def close_all(held: Iterable[Closing | None]) -> None:
    """Close the resources, in this order."""
    for each in held:
        if each is not None:
            each.close()
