"""Defines the options that commands of `graphtide bench` share, reads lists of values, and hands out reports."""

# No deferred annotations here: typer reads them when a command runs.
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from graphtide.cli.progress import ProgressBar
from graphtide_core.errors import FatalError
from graphtide_query.families import AUTO, FAMILIES
from rich.console import Console

from graphtide_bench.frame.report import Report

WITH_AUTO = (*FAMILIES["isomorphism"].names, AUTO)
ALL_ENGINES = ",".join(WITH_AUTO)
_WIDTH = 150

Engines = Annotated[str, typer.Option("--engine", help=f"Any of {ALL_ENGINES}.")]
Repeats = Annotated[int, typer.Option("--repeats", min=1, help="Runs of each case; the median counts.")]
Output = Annotated[Path | None, typer.Option("--output", help="Write the results as JSON.")]
Markdown = Annotated[Path | None, typer.Option("--markdown", help="Write the tables as Markdown.")]
Cache = Annotated[Path, typer.Option("--cache", help="Folder of generated streams.")]


@contextmanager
def running() -> Iterator[Callable[[str], None]]:
    """Yield what shows the progress; turn a failure into a message and exit status 1."""
    try:
        with ProgressBar("starting") as bar:
            yield bar.describe
    except FatalError as error:
        Console(stderr=True).print(f"failed: {error}", style="red", highlight=False, markup=False, soft_wrap=True)
        raise typer.Exit(1) from error


def hand_out(report: Report, output: Path | None, markdown: Path | None) -> None:
    """Show a report and write it where asked."""
    report.show(wide_console())
    if output is not None:
        report.write(output)
    if markdown is not None:
        markdown.write_text(report.to_markdown(), encoding="utf-8")


def wide_console() -> Console:
    """Return a console; one that is not a terminal is made wide enough for the tables."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH)


def split(text: str) -> tuple[str, ...]:
    """Return the values between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def numbers(text: str, option: str) -> tuple[int, ...]:
    """Return the numbers between commas.

    Raises:
        BadParameter: one is not a number, or is less than 1.
    """
    try:
        found = tuple(int(part) for part in split(text))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error
    if any(number < 1 for number in found):
        message = "numbers must be at least 1"
        raise typer.BadParameter(message, param_hint=option)
    return found


def known_names(names: tuple[str, ...], choices: Collection[str], option: str) -> tuple[str, ...]:
    """Return the names if all of them can be chosen.

    Raises:
        BadParameter: one cannot.
    """
    for name in names:
        if name not in choices:
            message = f"{name!r} is not one of {', '.join(choices)}"
            raise typer.BadParameter(message, param_hint=option)
    return names
