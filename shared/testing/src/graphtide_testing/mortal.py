"""A process that is killed: an exception at any call to the outside, before it takes effect or right after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_GIVES_OTHERS = frozenset({"reader", "transactor", "writer", "admin"})


class KilledError(Exception):
    """The process is gone."""


@dataclass
class Mortal:
    """A log, or something it gave, whose user is killed when the fuse has burnt down.

    Attributes:
        of: what takes the calls.
        fuse: calls are counted down twice, before and after each; at 0 the user is killed. Below 0 it never is.
    """

    of: Any  # stands for each of the log's protocols
    fuse: list[int]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the method, with the fuse around it."""

        def call(*arguments: Any, **named: Any) -> Any:
            self._burn()
            given = getattr(self.of, name)(*arguments, **named)
            self._burn()
            return Mortal(given, self.fuse) if name in _GIVES_OTHERS else given

        return call

    def _burn(self) -> None:
        self.fuse[0] -= 1
        if self.fuse[0] == 0:
            raise KilledError
