"""The frame of a benchmark that is a script: its options, its rows, and the report of them.

A script adds a row as soon as it has one, so a long run shows what it found. Rows are a kind of results like any other.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from graphtide_bench.frame.arguments import hand_out
from graphtide_bench.frame.kinds import Kind
from graphtide_bench.frame.report import Report, read
from graphtide_bench.frame.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_bench.frame.kinds import Value

Row = dict[str, Any]
"""A case and what was measured of it: texts, numbers and rounded spreads by column; mappings group columns."""


def table_of(rows: Sequence[Row]) -> tuple[Table]:
    """Return a row for each case, and a column for each name that a case has; texts come before numbers."""
    flat = [dict(_flat(row)) for row in rows]
    columns = dict.fromkeys(name for row in flat for name in row)
    numbers = [name for name in columns if all(_is_number(row[name]) for row in flat if name in row)]
    header = (*(name for name in columns if name not in numbers), *numbers)
    cells = tuple(tuple(_cell(row.get(name)) for name in header) for row in flat)
    return (Table("Results", tuple(name.replace("_", " ") for name in header), cells, names=len(header) - len(numbers)),)


def values_of(rows: Sequence[Row]) -> Iterator[Value]:
    """Yield every number of a row, of a spread its median, under the texts of the row, which name the case."""
    for row in rows:
        flat = dict(_flat(row))
        case = ", ".join(str(value) for value in flat.values() if not _is_number(value))
        for name, value in flat.items():
            if _is_number(value) and name != _LOAD:
                yield name.replace("_", " "), case, float(value["median"] if _is_spread(value) else value)


_LOAD: Final = "load"
ROWS: Final = Kind("rows", dict, table_of, values=values_of)


class Script:
    """A benchmark in a file of its own; its options include `--output` and `--markdown`, as those of `graphtide bench` do."""

    def __init__(self, path: str, description: str | None) -> None:
        """Take the file and its docstring."""
        self._path = Path(path)
        self._parser = argparse.ArgumentParser(
            description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
        )
        self.option = self._parser.add_argument
        self.option("--output", type=Path, help="write the results as JSON")
        self.option("--markdown", type=Path, help="write the table as Markdown")
        self._asked = argparse.Namespace()
        self._rows: list[Row] = []

    def arguments(self) -> argparse.Namespace:
        """Return the values of the options."""
        self._asked = self._parser.parse_args()
        return self._asked

    def add(self, row: Row) -> None:
        """Keep a row with the load of the machine, and show it."""
        self._rows.append(row | {_LOAD: row.get(_LOAD, round(os.getloadavg()[0], 1))})
        sys.stderr.write(json.dumps(self._rows[-1]) + "\n")
        sys.stderr.flush()

    def apart(self, *arguments: object) -> list[Row]:
        """Run this script in a process of its own with other options, and return its rows.

        Raises:
            RuntimeError: the process failed.
        """
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "rows.json"
            command = [sys.executable, str(self._path), *map(str, arguments), "--output", str(output)]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - this very script
            if ran.returncode:
                message = f"{' '.join(command)}: exit status {ran.returncode}\n{ran.stderr}"
                raise RuntimeError(message)
            return list(read(output).of_kind(ROWS))

    def hand_out(self, checked: str = "") -> None:
        """Show the table of all rows and write the report where asked."""
        report = Report.of(self._path.stem, checked, (ROWS, self._rows))
        hand_out(report, self._asked.output, self._asked.markdown)


def _flat(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping) and not _is_spread(value):
            yield from _flat(value, f"{before}{name} ")
        else:
            yield f"{before}{name}", value


def _is_spread(value: object) -> bool:
    return isinstance(value, Mapping) and value.keys() == {"median", "least", "greatest"}


def _is_number(value: object) -> bool:
    return _is_spread(value) or (isinstance(value, int | float) and not isinstance(value, bool))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(_cell, value))
    if isinstance(value, Mapping):
        return f"{value['median']:,} ({value['least']:,} to {value['greatest']:,})"
    return f"{value:,}" if _is_number(value) else str(value)
