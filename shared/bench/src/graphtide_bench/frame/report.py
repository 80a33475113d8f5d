"""Holds the results of a run of benchmarks and its machine, as JSON, as Markdown and on a terminal."""

# No deferred annotations here: msgspec reads them.
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from graphtide_core.errors import FatalError
from rich.console import Console

from graphtide_bench.frame.kinds import KINDS, Kind, Run
from graphtide_bench.frame.machine import Machine, this_machine
from graphtide_bench.frame.table import Table


@dataclass(frozen=True, slots=True)
class Report:
    """What one command or script measured.

    Attributes:
        command: its name.
        machine: where.
        checked: what was asserted of the results.
        results: the results of each kind, by its tag, in the order of their tables.
    """

    command: str
    machine: Machine
    checked: str
    results: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, command: str, checked: str, *results: tuple[Kind[Any], Sequence[Any]]) -> "Report":
        """Return the report of a run that ends on this machine now."""
        return cls(command, this_machine(), checked, {kind.tag: tuple(found) for kind, found in results})

    def of_kind(self, kind: Kind[Run]) -> tuple[Run, ...]:
        """Return the results of a kind."""
        return self.results.get(kind.tag, ())

    def tables(self) -> tuple[Table, ...]:
        """Return the tables that say most about the results."""
        return tuple(self._tables(lambda kind: kind.tables))

    def to_markdown(self) -> str:
        """Return the tables, and below them those with details."""
        tables = (*self.tables(), *self._tables(lambda kind: kind.details))
        return "\n".join([*(f"{line}\n" for line in self._lines()), *(table.to_markdown() for table in tables)])

    def show(self, console: Console) -> None:
        """Draw the tables on a terminal."""
        for table in self.tables():
            console.print(table.to_rich())
        for line in self._lines():
            console.print(line, highlight=False)

    def write(self, path: Path) -> None:
        """Write the report as JSON, which `read` reads."""
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")

    def _tables(self, choose: Callable[[Kind[Any]], Callable[[Sequence[Any]], Iterable[Table]]]) -> Iterator[Table]:
        for tag, found in self.results.items():
            if found:
                yield from choose(KINDS[tag])(found)

    def _lines(self) -> tuple[str, ...]:
        return (str(self.machine), self.checked) if self.checked else (str(self.machine),)


@dataclass(frozen=True, slots=True)
class _Written:
    """A report whose results are not decoded yet: their classes are those of their kinds."""

    command: str
    machine: Machine
    checked: str
    results: dict[str, msgspec.Raw]


def read(path: Path) -> Report:
    """Read a report whose kinds of results are known.

    Raises:
        FatalError: the file does not exist, it is not a report, or it has results of an unknown kind.
    """
    try:
        written = msgspec.json.decode(path.read_bytes(), type=_Written)
        unknown = sorted(written.results.keys() - KINDS.keys())
        if unknown:
            message = f"{path}: unknown kinds of results: {', '.join(unknown)}; known are {', '.join(sorted(KINDS))}"
            raise FatalError(message)
        results = {tag: tuple(msgspec.json.decode(found, type=KINDS[tag].runs)) for tag, found in written.results.items()}
        return Report(written.command, written.machine, written.checked, results)
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror or error})"
        raise FatalError(message) from error
    except msgspec.DecodeError as error:
        message = f"{path}: this is not a report of benchmarks ({error})"
        raise FatalError(message) from error
