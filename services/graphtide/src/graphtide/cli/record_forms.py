"""How the records of a stream are written: options that a decorator adds to every verb that reads a stream."""

from __future__ import annotations

import inspect
from copy import copy
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_type_hints

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphtide_core.stream_definition import StreamDefinition

    from graphtide.record_options import RecordOptions


_DEFINITION: Final = ("--stream", "--definition")
"""What the file of a statement is called; the second alone where a command calls something else so."""


Definition = Annotated[
    list[Path] | None,
    typer.Option(
        *_DEFINITION,
        help="File with a STREAM statement, which says what a record means; with --input one for each stream, by its name.",
        show_default=False,
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        help="A STREAM statement that comes with graphtide; graphtide streams presets lists them.", show_default=False
    ),
]


@dataclass(frozen=True, slots=True)
class FormOptions:
    """What the command line says of how records are written; see `RecordOptions`."""

    delimiter: Annotated[
        str, typer.Option(help="What separates the fields of a CSV file: a character or several, or whitespace.")
    ] = ","
    time_format: Annotated[
        str,
        typer.Option(
            help="How ts is written: ticks of the unit; numbers with decimals in s, ms, us or ns; iso; "
            "or a format of strptime such as '%d/%m/%Y %H:%M'.",
        ),
    ] = "ticks"
    time_zone: Annotated[
        str | None,
        typer.Option(help="Zone of times that name none: Europe/Berlin, +02:00; UTC if not given.", show_default=False),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(help="NAME,NAME…: the columns of a CSV file that has no header line.", show_default=False),
    ] = None
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The CSV file has no header line; without --columns they are called 1, 2, ….")
    ] = False
    comment: Annotated[
        str | None, typer.Option(help="Lines of a text file that begin so are no records, such as '#'.", show_default=False)
    ] = None
    null: Annotated[
        list[str] | None,
        typer.Option(help="A text that stands for a missing value, such as '-'; may be repeated.", show_default=False),
    ] = None
    decimal: Annotated[str, typer.Option(help="The decimal point of numbers in CSV: . or , (as in 1.234,50).")] = "."
    unnest: Annotated[
        str | None,
        typer.Option(help="Keys, joined by points, that lead to the records of JSON, such as Records.", show_default=False),
    ] = None
    label: Annotated[str | None, typer.Option(help="Label of edges that have none.", show_default=False)] = None
    definition: Definition = None
    preset: Preset = None

    @property
    def is_given(self) -> bool:
        """Whether any was said."""
        return self != FormOptions()

    def read(self, stated: Sequence[StreamDefinition] = ()) -> RecordOptions:
        """Return what was said, read; `stated` are the definitions of statements that stand before the patterns.

        Raises:
            BadParameter: an option makes no sense.
            InvalidPatternError: a statement is wrong, or two define one stream.
            UnreadableStreamError: the file of a statement cannot be read.
        """
        from graphtide.record_options import RecordOptions, read_option  # noqa: PLC0415 - help does without

        definitions = self._definitions(stated)
        given: dict[str, tuple[str, object]] = {
            "delimiter": ("--delimiter", self.delimiter),
            "header": ("--columns", self.columns),
            "has_header": ("--no-header", not self.no_header),
            "comment": ("--comment", self.comment),
            "nulls": ("--null", self.null),
            "decimal": ("--decimal", self.decimal),
            "unnest": ("--unnest", self.unnest),
            "label": ("--label", self.label),
            "time_format": ("--time-format", self.time_format),
            "time_zone": ("--time-zone", self.time_zone),
        }
        values: dict[str, Any] = {}
        for name, (option, value) in given.items():
            if value is None:
                continue
            try:
                values[name] = read_option(name, value)
            except ValueError as error:
                raise typer.BadParameter(str(error), param_hint=option) from error
            if definitions and values[name] != getattr(RecordOptions(), name):
                message = f"STREAM {definitions[0].name} says how its records are written; leave the option out"
                raise typer.BadParameter(message, param_hint=option)
        return RecordOptions(**values, stream=definitions)

    def _definitions(self, stated: Sequence[StreamDefinition]) -> tuple[StreamDefinition, ...]:
        if not self.definition and self.preset is None:
            return tuple(stated)
        from graphtide.stream import Stream, definitions_of  # noqa: PLC0415 - as above

        presets = [] if self.preset is None else [Stream.preset(self.preset)]
        return definitions_of([*stated, *(self.definition or ()), *presets])


def add_form_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `FormOptions` behind its own; it gets their values as `record_form`."""
    signature = inspect.signature(command, eval_str=True)
    hints = get_type_hints(FormOptions, include_extras=True)
    added = [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])
        for each in fields(FormOptions)
    ]
    own = [each for each in signature.parameters.values() if each.name != "record_form"]
    if "stream" in signature.parameters:
        added = [each if each.name != "definition" else _rename(each) for each in added]

    @wraps(command)
    def call(**given: Any) -> None:
        values = {each.name: given.pop(each.name) for each in added}
        command(**given, record_form=FormOptions(**values))

    parameters = [*own, *added]
    # Where the wrapper is asked for its own, not for what it wraps.
    del call.__wrapped__
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": None}
    return call


def _rename(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return the option for the file of a statement under its second name alone."""
    kind, option = get_args(parameter.annotation)
    option = copy(option)
    # In an annotation typer takes the first name for the default.
    option.default, option.param_decls = _DEFINITION[1], ()
    return parameter.replace(annotation=Annotated[kind, option])
