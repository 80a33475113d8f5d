"""Arguments that several commands share, and their reading into options."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from graphtide_core.errors import FatalError, InvalidPatternError
from graphtide_core.pattern import SubgraphPattern
from graphtide_core.plan import SjTreeStrategy, Storage
from graphtide_core.time import DURATION_UNITS, Duration, TimeUnit
from graphtide_query import parse
from graphtide_query.planner import AUTO, ENGINES

PatternFile = Annotated[Path, typer.Argument(help="File with one or several patterns.", show_default=False)]
StreamFile = Annotated[
    str, typer.Argument(help="CSV, JSON Lines, Parquet or Arrow file, .gz or .zst; - is standard input.", show_default=False)
]
Engine = Annotated[str, typer.Option(help=f"{AUTO} (the cheapest by estimate), {' or '.join(ENGINES)}.")]
Plan = Annotated[
    str | None,
    typer.Option(
        help=f"Variant of the engine's plan; timing: {', '.join(s.value for s in Storage)}; "
        f"sj-tree: {', '.join(s.value for s in SjTreeStrategy)}.",
        show_default=False,
    ),
]
TimeUnitOption = Annotated[str, typer.Option("--time-unit", help="What ts counts: s, ms, us or ns.")]
StatisticsFrom = Annotated[
    Path | None, typer.Option("--statistics-from", help="Stream whose statistics the planner uses.", show_default=False)
]

_DURATION = re.compile(rf"\s*(\d+)\s*({'|'.join(sorted(DURATION_UNITS, key=len, reverse=True))})?\s*")
_Choice = TypeVar("_Choice")


def read_patterns(path: Path) -> tuple[SubgraphPattern, ...]:
    """Parse a pattern file.

    Raises:
        InvalidPatternError: the text is wrong; the message says where.
        FatalError: the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        message = f"{path} is not UTF-8 text: {error.reason} at byte {error.start}"
        raise InvalidPatternError(message) from error
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}"
        raise FatalError(message) from error
    return parse(text)


def with_source(error: InvalidPatternError, path: Path) -> InvalidPatternError:
    """Return the error with the line of the file it points at."""
    return error.in_text(path.read_text(encoding="utf-8"))


def time_unit(text: str) -> TimeUnit:
    """Read a unit of time."""
    return choice(text, {unit.value: unit for unit in TimeUnit}, "--time-unit")


def engine_name(text: str) -> str:
    """Read the name of an engine."""
    return choice(text, {name: name for name in (AUTO, *ENGINES)}, "--engine")


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of an engine's plan: how `timing` stores, how `sj-tree` splits and searches."""

    storage: Storage = Storage.MS_DAG
    strategy: SjTreeStrategy | None = None


def variant(plan: str | None, engine: str) -> Variant:
    """Read the variant of an engine's plan."""
    if plan is None:
        return Variant()
    variants = {
        "timing": {storage.value: Variant(storage=storage) for storage in Storage},
        "sj-tree": {strategy.value: Variant(strategy=strategy) for strategy in SjTreeStrategy},
    }
    if engine not in variants:
        message = f"engine {engine} has no variants; {' and '.join(variants)} have"
        raise typer.BadParameter(message, param_hint="--plan")
    return choice(plan, variants[engine], "--plan")


def duration(text: str, option: str) -> Duration:
    """Read a duration: `500ms`, `10m`, or a number of ticks."""
    found = _DURATION.fullmatch(text)
    if found is None:
        message = f"{text!r} is no duration; for example 500ms, 10m, or a number of ticks"
        raise typer.BadParameter(message, param_hint=option)
    return Duration(int(found[1]), found[2])


def choice(text: str, choices: dict[str, _Choice], option: str) -> _Choice:
    """Read one of several words."""
    if text not in choices:
        message = f"{text!r} is none of {', '.join(choices)}"
        raise typer.BadParameter(message, param_hint=option)
    return choices[text]


def columns(pairs: list[str]) -> dict[str, str]:
    """Read `ts=time` pairs: what the stream calls a column."""
    mapping: dict[str, str] = {}
    for pair in pairs:
        name, separator, actual = pair.partition("=")
        if not separator or not name or not actual:
            message = f"{pair!r} is not NAME=COLUMN, for example src=from_account"
            raise typer.BadParameter(message, param_hint="--column")
        mapping[name] = actual
    return mapping
