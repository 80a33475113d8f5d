"""Kinds of results: what a report can hold, each with its tables and with what of it two reports compare.

A subject makes its kind where it defines its runs; a report finds the kind by its tag.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from graphtide_bench.frame.table import Table

Run = TypeVar("Run")
Value = tuple[str, str, float]
"""The group it belongs to, its name within the group, and what was measured."""

KINDS: Final[dict[str, Kind[Any]]] = {}
"""Every kind whose subject is imported, by tag."""


def nothing(_: Sequence[Any]) -> tuple[()]:
    """Return no tables, and nothing to compare."""
    return ()


@dataclass(frozen=True, slots=True)
class Kind(Generic[Run]):
    """A kind of results.

    Attributes:
        tag: its name in a report.
        run: class of one result.
        tables: return the tables that say most about results.
        details: return the tables that Markdown adds.
        values: return what two reports compare.
    """

    tag: str
    run: type[Run]
    tables: Callable[[Sequence[Run]], Iterable[Table]] = nothing
    details: Callable[[Sequence[Run]], Iterable[Table]] = nothing
    values: Callable[[Sequence[Run]], Iterable[Value]] = nothing

    @property
    def runs(self) -> type[list[Run]]:
        """Class of results in JSON."""
        return list[self.run]  # type: ignore[name-defined]

    def __post_init__(self) -> None:
        """Make the kind known.

        Raises:
            ValueError: another kind has the tag.
        """
        if KINDS.setdefault(self.tag, self) is not self:
            message = f"two kinds of results have the tag {self.tag!r}"
            raise ValueError(message)
