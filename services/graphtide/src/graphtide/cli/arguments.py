"""Arguments that several commands share, and their reading into options."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer
from graphtide_core.attribute_type import AttributeType, declared_types
from graphtide_core.errors import InvalidPatternError, InvalidQueryError
from graphtide_core.formats import COMPRESSED_SUFFIXES, FORMATS, one_of
from graphtide_core.time import MAX_EVENT_TIME, Duration, TimeUnit
from graphtide_query import parse, parse_streams_and_patterns, parse_subgraphs
from graphtide_query.families import AUTO, VARIANTS, PlannerOptions

from graphtide.record import DISPENSABLE, RECORD_COLUMNS, flaw_of_delimiter
from graphtide.text_file import read_text_file
from graphtide.wording import refuse_unless_one_of

_VARIANTS: Final = "; ".join(f"{name}: {', '.join(variants)}" for name, variants in VARIANTS.items() if variants)

_STREAM: Final = f"{one_of(each.title for each in FORMATS.values())} file, {one_of(COMPRESSED_SUFFIXES)}; - is standard input."

PatternFile = Annotated[Path, typer.Argument(help="File with one or several patterns.", show_default=False)]
StreamFile = Annotated[str, typer.Argument(help=_STREAM, show_default=False)]
StreamFiles = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="STREAM_FILE",
        help=f"{_STREAM} Several files, a folder or 'logs/*.csv' are merged by time. For several streams use --input.",
        show_default=False,
    ),
]
Engine = Annotated[str, typer.Option(help=f"{AUTO} (the cheapest by estimate), {' or '.join(VARIANTS)}.")]
Plan = Annotated[
    str | None,
    typer.Option(
        help=f"Variant of the engine's plan; {_VARIANTS}.",
        show_default=False,
    ),
]
TimeUnitOption = Annotated[str, typer.Option("--time-unit", help="What ts counts: s, ms, us or ns.")]
Type = Annotated[
    list[str] | None,
    typer.Option(
        help=f"NAME:TYPE: what an attribute's values are: {', '.join(kind.value for kind in AttributeType)}.",
        show_default=False,
    ),
]
SchemaFile = Annotated[
    Path | None, typer.Option(help='JSON file of such types: {"attributes": {"zip": "string"}}.', show_default=False)
]
StatisticsFrom = Annotated[
    Path | None, typer.Option("--statistics-from", help="Stream whose statistics the planner uses.", show_default=False)
]
Url = Annotated[str, typer.Option("--server", envvar="GRAPHTIDE_SERVER", help="URL of the server.")]
ApiKey = Annotated[str | None, typer.Option(envvar="GRAPHTIDE_API_KEY", help="API key.", show_default=False)]
Token = Annotated[str | None, typer.Option(envvar="GRAPHTIDE_TOKEN", help="Token of the OpenID provider.", show_default=False)]

AUTO_UNIT: Final = "auto"
"""The unit of time that is guessed."""

URL: Final = "http://localhost:8080"

STANDARD: Final = "-"
"""What stands for standard input or output in place of a path."""

MOST: Final = 2**63 - 1
"""What a number of the command line may be at most: more no engine can count to."""

MOST_AT_ONCE: Final = 1_000_000_000
"""What a number may be at most of things that are in memory at once."""

_LONGEST_NUMBER: Final = 40

_STATEMENT: Final = re.compile(r"\bSTREAM\b", re.IGNORECASE)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.stream_definition import StreamDefinition

_Choice = TypeVar("_Choice")


def read_any_patterns(path: Path) -> tuple[AnyPattern, ...]:
    """Parse a pattern file.

    Raises:
        InvalidPatternError: the text is wrong; the message says where.
        UnreadableStreamError: the file cannot be read.
    """
    return parse(read_text_file(path))


def read_patterns_and_streams(path: Path) -> tuple[tuple[StreamDefinition, ...], tuple[AnyPattern, ...]]:
    """Parse a pattern file that may have STREAM statements in front of its patterns, and return the definitions and patterns.

    Raises:
        InvalidPatternError: the text is wrong, or has no pattern; the message says where.
        UnreadableStreamError: the file cannot be read.
    """
    streams, patterns = read_statements(path)
    if not patterns:
        message = f"{path} has STREAM statements and no pattern"
        raise InvalidPatternError(message, hint=f"give the patterns in a file of their own, and this one by --stream {path}")
    return streams, patterns


def read_statements(path: Path) -> tuple[tuple[StreamDefinition, ...], tuple[AnyPattern, ...]]:
    """Parse a file of STREAM statements and patterns, both or one of them; the files that statements name are beside it.

    Raises:
        InvalidPatternError: the text is wrong; the message says where.
        UnreadableStreamError: the file cannot be read.
    """
    text = read_text_file(path)
    # A text without the word cannot have a statement, and is read by smaller tables.
    if _STATEMENT.search(text) is None:
        return (), parse(text)
    from graphtide.stated_files import with_files  # noqa: PLC0415 - patterns alone do without

    streams, patterns = parse_streams_and_patterns(text)
    return tuple(with_files(each, path.parent) for each in streams), patterns


def read_subgraphs(path: Path) -> tuple[SubgraphPattern, ...]:
    """Parse a pattern file, for what works on subgraphs alone.

    Raises:
        InvalidPatternError: the text is wrong, or has another pattern; the message says where.
        UnreadableStreamError: the file cannot be read.
    """
    return parse_subgraphs(read_text_file(path))


def with_source(error: InvalidPatternError, path: Path) -> InvalidPatternError:
    """Return the error with the line of the file it points at."""
    return error.in_text(path.read_text(encoding="utf-8"))


def time_unit(text: str) -> TimeUnit:
    """Read a unit of time."""
    return choice(text, {unit.value: unit for unit in TimeUnit}, "--time-unit")


def engine_name(text: str) -> str:
    """Read the name of an engine."""
    return choice(text, {name: name for name in (AUTO, *VARIANTS)}, "--engine")


def planner_options(engine: str, plan: str | None) -> PlannerOptions:
    """Read an engine and the variant of its plan."""
    name = engine_name(engine)
    if plan is None:
        return PlannerOptions(name)
    if name == AUTO or plan not in VARIANTS[name]:
        owner = next((engine for engine, variants in VARIANTS.items() if plan in variants), None)
        if owner is not None:
            message = f"{plan} is a variant of the engine {owner}: add --engine {owner}"
            raise typer.BadParameter(message, param_hint="--plan")
        choice(plan, {variant: variant for variants in VARIANTS.values() for variant in variants}, "--plan")
    return PlannerOptions.of(name, plan)


def duration(text: str, option: str) -> Duration:
    """Read a duration: `500ms`, `10m`, or a number of ticks."""
    try:
        return Duration.of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def bounded_duration(text: str, option: str, unit: TimeUnit) -> Duration:
    """Read a duration that times of this unit can be apart."""
    length = duration(text, option)
    if length.ticks(unit) > MAX_EVENT_TIME:
        raise _too_long(text, option)
    return length


def _too_long(text: str, option: str) -> typer.BadParameter:
    shown = text if len(text) <= _LONGEST_NUMBER else text[:_LONGEST_NUMBER] + "…"
    return typer.BadParameter(f"{shown!r} is longer than times can be apart: {MOST} ticks", param_hint=option)


def attribute_types(pairs: list[str] | None, schema: Path | None) -> dict[str, AttributeType]:
    """Read the types of attributes; `NAME:TYPE` pairs come before a schema file.

    Raises:
        UnreadableStreamError: the file cannot be read, or is not a schema.
    """
    declared: dict[str, str] = {}
    for pair in pairs or []:
        name, separator, kind = pair.rpartition(":")
        if not separator:
            message = f"{pair!r} is not NAME:TYPE, for example zip:string"
            raise typer.BadParameter(message, param_hint="--type")
        declared[name] = kind
    try:
        types = declared_types(declared)
    except InvalidQueryError as error:
        raise typer.BadParameter(str(error), param_hint="--type") from error
    if schema is None:
        return types
    from graphtide.schema_file import read_schema  # noqa: PLC0415 - other lines do without msgspec

    return {**read_schema(schema), **types}


def delimiter_of(text: str) -> str:
    """Read what separates the fields of CSV: a character or several, or `whitespace`."""
    if flaw := flaw_of_delimiter(text):
        raise typer.BadParameter(flaw, param_hint="--delimiter")
    return text


def refuse_shared_files(inputs: Mapping[str, Path | str | None], outputs: Mapping[str, Path | None]) -> None:
    """Refuse to write what is read, or two things to one file; both by the names that the command line gives them."""
    seen = {where: name for name, path in inputs.items() if (where := _regular(path)) is not None}
    for name, path in outputs.items():
        where = _regular(path)
        if where is None:
            continue
        if where in seen:
            message = f"{path} is given as {seen[where]} too"
            raise typer.BadParameter(message, param_hint=name)
        seen[where] = name


def _regular(path: Path | str | None) -> Path | None:
    """Return where a path leads, unless that is standard input or output, or a device."""
    if path is None or str(path) == STANDARD:
        return None
    try:
        where = Path(path).resolve()
        return None if where.exists() and not where.is_file() else where
    except (OSError, ValueError):
        # The code that opens it reports what is wrong with it.
        return None


def choice(text: str, choices: dict[str, _Choice], option: str) -> _Choice:
    """Read one of several words."""
    if text not in choices:
        message = f"{text!r} is not one of {', '.join(choices)}"
        raise typer.BadParameter(message, param_hint=option)
    return choices[text]


def columns(pairs: list[str]) -> dict[str, str]:
    """Read `ts=time` pairs: what the stream calls a column; `id=` reads it without the column."""
    mapping: dict[str, str] = {}
    for pair in pairs:
        name, separator, actual = pair.partition("=")
        if not separator or not name:
            message = f"{pair!r} is not NAME=COLUMN, for example src=from_account"
            raise typer.BadParameter(message, param_hint="--column")
        try:
            refuse_unless_one_of(name, RECORD_COLUMNS, "column of a record")
            if not actual:
                refuse_unless_one_of(name, DISPENSABLE, "column that a record can do without")
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--column") from error
        mapping[name] = actual
    return mapping
