"""A log whose user can be killed at any call: what a crash between two steps looks like from outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_GIVES_MORE = frozenset({"reader", "transactor", "writer"})


class KilledError(Exception):
    """The process is gone."""


@dataclass
class Fuse:
    """Burns with every call; `length` calls from now the caller is killed. 0 never kills."""

    length: int = 0

    def burn(self) -> None:
        """Burn one step.

        Raises:
            KilledError: that was the last one.
        """
        self.length -= 1
        if self.length == 0:
            raise KilledError


@dataclass
class Mortal:
    """An object, and what it gives, whose user is killed before one of its calls, or right after it took effect."""

    of: Any
    fuse: Fuse = field(default_factory=Fuse)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the method, with the fuse burning before and after it."""

        def call(*arguments: Any, **named: Any) -> Any:
            self.fuse.burn()
            given = getattr(self.of, name)(*arguments, **named)
            self.fuse.burn()
            return Mortal(given, self.fuse) if name in _GIVES_MORE else given

        return call
