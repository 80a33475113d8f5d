"""How the records of a stream are written: one set of options for the command line, Python and readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Literal

from graphtide_native.record_form import TICKS, RecordForm, refuse_unknown_time_format, time_form, zone_of

from graphtide.record import flaw_of_delimiter

if TYPE_CHECKING:
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_core.time import TimeUnit


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """Options of how records are written. A text may be given for a list: names between commas, keys between points.

    Attributes:
        delimiter: what separates the fields of CSV: a character or several, or `whitespace`.
        header: names of the columns of CSV without a header line.
        has_header: whether CSV has a header line; columns without names are called by their numbers, from 1.
        comment: beginning of lines of a text format that are not records; None if there are none.
        nulls: texts of a text format that stand for a missing value.
        decimal: the decimal point of numbers in CSV: `.`, or `,` for numbers such as `1.234,50`.
        unnest: keys that lead to the records of JSON.
        label: label of edges that have none; None if each must have one.
        time_format: how `ts` is written: `ticks` of the unit; numbers in `s`, `ms`, `us` or `ns`; `iso`; as in `strptime`.
        time_zone: zone of times that name none, such as `Europe/Berlin` or `+02:00`; None for UTC.
        stream: STREAM statements that say all of this and what a record means. Give one for one stream, or one for each of
            several by its name. Then no other option is given.
    """

    delimiter: str = ","
    header: tuple[str, ...] = ()
    has_header: bool = True
    comment: str | None = None
    nulls: tuple[str, ...] = ()
    decimal: str = "."
    unnest: tuple[str, ...] = ()
    label: str | None = None
    time_format: str = TICKS
    time_zone: str | None = None
    stream: tuple[StreamDefinition, ...] = ()

    def __post_init__(self) -> None:
        """Read texts, and refuse what means nothing.

        Raises:
            ValueError: an option makes no sense; the message begins with its name.
            TypeError: an option is of a type that has no meaning here; likewise.
        """
        for name in _READ:
            try:
                value = read_option(name, getattr(self, name))
            except (ValueError, TypeError) as error:
                message = f"{name}: {error}"
                raise type(error)(message) from error
            object.__setattr__(self, name, value)
        self._refuse_contradiction()

    def _refuse_contradiction(self) -> None:
        if not self.stream:
            return
        for each in fields(self):
            if each.name != "stream" and getattr(self, each.name) != each.default:
                message = f"{each.name}: STREAM {self.stream[0].name} says how its records are written; leave the option out"
                raise ValueError(message)

    def form(self, unit: TimeUnit) -> RecordForm:
        """Return how records are written, as decoders take it; `unit` is what the stream counts."""
        heading: Literal["line", "given", "numbers"] = "given" if self.header else "line" if self.has_header else "numbers"
        return RecordForm(
            times=time_form(self.time_format, self.time_zone, unit),
            label=self.label,
            nulls=self.nulls,
            comment=self.comment or "",
            heading=heading,
            header=self.header,
            has_decimal_comma=self.decimal == ",",
            path=self.unnest or None,
        )


def read_option(name: str, given: object) -> object:
    """Return the value of an option of `RecordOptions` as it is given, a list for a text.

    Raises:
        ValueError: it makes no sense; the message does not name the option.
        TypeError: it is of a type that has no meaning here; likewise.
    """
    return _READ[name](given)


def _text(given: object) -> str:
    if isinstance(given, str):
        return given
    message = f"a text is needed, not a {type(given).__name__}"
    raise TypeError(message)


def _delimiter(given: object) -> str:
    if flaw := flaw_of_delimiter(text := _text(given)):
        raise ValueError(flaw)
    return text


def _texts(given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        message = f"a list of texts is needed, not a {type(given).__name__}"
        raise TypeError(message)
    return tuple(_text(each) for each in given)


def _names(between: str) -> Callable[[object], tuple[str, ...]]:
    def read(given: object) -> tuple[str, ...]:
        names = _texts(given.split(between) if isinstance(given, str) else given)
        if not all(names):
            message = f"{given!r} has an empty name in it"
            raise ValueError(message)
        return names

    return read


def _flag(given: object) -> bool:
    if isinstance(given, bool):
        return given
    message = f"True or False is needed, not a {type(given).__name__}"
    raise TypeError(message)


def _part_of_line(given: object) -> str | None:
    if given is None:
        return None
    if not (text := _text(given)) or "\n" in text:
        message = f"{text!r} is empty or more than a line"
        raise ValueError(message)
    return text


def _decimal(given: object) -> str:
    if (text := _text(given)) in {".", ","}:
        return text
    message = f"{text!r} is not one of . and ,"
    raise ValueError(message)


def _time_format(given: object) -> str:
    refuse_unknown_time_format(text := _text(given))
    return text


def _stream(given: object) -> tuple[StreamDefinition, ...]:
    # Options without a statement do without the language.
    if given == ():
        return ()
    from graphtide.stream import definitions_of  # noqa: PLC0415

    return definitions_of(given)


def _time_zone(given: object) -> str | None:
    if given is not None:
        zone_of(_text(given))
    return None if given is None else _text(given)


_READ: Final[dict[str, Callable[[object], object]]] = {
    "delimiter": _delimiter,
    "header": _names(","),
    "has_header": _flag,
    "comment": _part_of_line,
    "nulls": lambda given: (given,) if isinstance(given, str) else _texts(given),
    "decimal": _decimal,
    "unnest": _names("."),
    "label": _part_of_line,
    "time_format": _time_format,
    "time_zone": _time_zone,
    "stream": _stream,
}
"""What reads each option."""
