"""Formats tables of text and numbers, as Markdown or for a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from rich.table import Table as RichTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Result = TypeVar("Result")
_KILO, _MEGA = 1_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below a header; columns after the first `names` hold numbers and are aligned right."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1

    @classmethod
    def of(cls, title: str, results: Iterable[Result], columns: Mapping[str, Callable[[Result], str]], names: int = 1) -> Table:
        """Return a table with a row for each result; a column is a name and what formats its cells."""
        rows = tuple(tuple(cell(each) for cell in columns.values()) for each in results)
        return cls(title, tuple(columns), rows, names)

    def to_markdown(self) -> str:
        """Return the table with its title in bold above it."""
        rule = ["---"] * self.names + ["---:"] * (len(self.header) - self.names)
        lines = [f"| {' | '.join(cells)} |" for cells in (self.header, rule, *self.rows)]
        return "\n".join([f"**{self.title}**", "", *lines, ""])

    def to_rich(self) -> RichTable:
        """Return the table as rich draws it."""
        table = RichTable(title=self.title, title_justify="left")
        for place, name in enumerate(self.header):
            table.add_column(name, justify="left" if place < self.names else "right")
        for row in self.rows:
            table.add_row(*row)
        return table


def rate(edges_per_second: float) -> str:
    """Return a rate with three digits, as in `21.6M`."""
    if edges_per_second >= _MEGA:
        return f"{_three(edges_per_second / _MEGA)}M"
    return f"{_three(edges_per_second / _KILO)}K" if edges_per_second >= _KILO else _three(edges_per_second)


def size(count: float) -> str:
    """Return bytes with three digits, as in `1.23 MB` (a million bytes)."""
    return f"{_three(count / _MEGA)} MB" if count >= _MEGA else f"{_three(count / _KILO)} KB"


def ratio(value: float) -> str:
    """Return a ratio, as in `1.23x`."""
    return f"{_three(value)}x"


def percent(share: float) -> str:
    """Return a share as a whole percentage."""
    return f"{share:.0%}"


def _three(value: float) -> str:
    for limit, digits in ((10, 2), (100, 1)):
        if value < limit - 0.5 * 10**-digits:
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"
