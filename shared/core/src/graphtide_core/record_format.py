"""How the bytes of a stream become records: `FORMAT name (option value, …)`, checked without any data.

A format is a row of `RECORD_FORMATS`, with the options that it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.portable_regex import check_regex, group_names
from graphtide_core.suggestion import did_you_mean, show

if TYPE_CHECKING:
    from graphtide_core.record_expression import FieldPath

WHITESPACE: Final = "whitespace"
"""The delimiter that stands for any run of spaces and tabs."""

LONGEST_DELIMITER: Final = 16
LONGEST_NAME: Final = 2_000
LONGEST_SCHEMA: Final = 1 << 20
"""Characters of a delimiter or of the start of a comment; of the name of a message or an element; of a schema."""

MOST_COLUMNS: Final = 10_000
ENCODINGS: Final = ("utf-8", "utf-16", "latin-1", "windows-1252")

_LINES: Final = frozenset({"encoding"})
RECORD_FORMATS: Final[dict[str, frozenset[str]]] = {
    "csv": _LINES | {"delimiter", "header", "columns", "comment", "quote", "decimal"},
    "jsonl": frozenset({"unnest"}),
    "json": frozenset({"unnest"}),
    "parquet": frozenset(),
    "arrow": frozenset(),
    "avro": frozenset({"unnest", "schema"}),
    "protobuf": frozenset({"unnest", "descriptor", "message"}),
    "xml": _LINES | {"row"},
    "syslog": _LINES,
    "regex": _LINES | {"pattern"},
    "zeek": frozenset(),
}
"""The formats that a statement names, with their options."""


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """A format with its options; None is an option that is not stated.

    Attributes:
        name: one of `RECORD_FORMATS`.
        pattern: the regular expression of a line; its named groups are the fields.
        delimiter: between fields; `whitespace` is any run of spaces and tabs.
        header: whether the first line names the columns; without it and without `columns`, they are called `1`, `2`, ….
        columns: names of the columns, in their order, in the place of those of a header.
        comment: how a line starts that is skipped.
        quote: the character around fields; empty for none.
        decimal: the sign before decimals, `.` or `,`; the other one groups digits.
        encoding: one of `ENCODINGS`.
        unnest: where the records are, by names and positions: the items of the list there; lists on the way are unnested, too.
        schema: the schema of messages of Avro, or the file that has it (`names_file`). None for the schema that a file of Avro
            has, and that a registry keeps for a message.
        descriptor: a descriptor set of Protobuf, `base64:…`, or the file that has it (`names_file`).
        message: the full name of the Protobuf message.
        row: the name of the XML elements that are records.
    """

    name: str
    pattern: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    columns: tuple[str, ...] | None = None
    comment: str | None = None
    quote: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    unnest: FieldPath | None = None
    schema: str | None = None
    descriptor: str | None = None
    message: str | None = None
    row: str | None = None

    def __post_init__(self) -> None:
        """Refuse an unknown format, an option that it does not have or lacks, and a wrong value."""
        check_format(self.name)
        for option in self.stated():
            check_option(self.name, option, getattr(self, option))
        self._refuse_equal_signs()
        for needed in _NEEDED.get(self.name, ()):
            if getattr(self, needed) is None:
                message = f"the format {self.name} needs {_TITLES.get(needed, needed.upper())}"
                raise InvalidPatternError(message, hint=f"for example {_EXAMPLES[self.name]}")

    def stated(self) -> tuple[str, ...]:
        """Return the names of the options that are stated, in the order of the attributes."""
        return tuple(each for each in OPTIONS if getattr(self, each) is not None)

    def _refuse_equal_signs(self) -> None:
        delimiter = self.delimiter or ","
        for what, sign in (("DECIMAL", self.decimal), ("QUOTE", self.quote), ("COMMENT", self.comment)):
            if self.name == "csv" and sign and sign == delimiter:
                message = f"{what} and DELIMITER are both {show(sign)}"
                raise InvalidPatternError(message, hint="state the other: FORMAT csv (DELIMITER ';', DECIMAL ',')")


NESTING: Final = frozenset({"json", "jsonl", "avro", "protobuf"})
"""Formats whose records are read with what is around them, and with conditions on the items of lists."""

OPTIONS: Final = tuple(each for each in RecordFormat.__dataclass_fields__ if each != "name")
"""The options of all formats."""

_NEEDED: Final = {"regex": ("pattern",), "protobuf": ("descriptor", "message"), "xml": ("row",)}
_TITLES: Final = {"pattern": "the regular expression of a line", "row": "ROW, the name of the elements that are records"}
_EXAMPLES: Final = {
    "regex": "FORMAT regex '(?P<host>[^ ]+) (?P<user>[^ ]+)'",
    "protobuf": "FORMAT protobuf (DESCRIPTOR 'flows.desc', MESSAGE 'net.Flow')",
    "xml": "FORMAT xml (ROW 'row')",
}


WRITTEN_BYTES: Final = "base64:"
"""What begins a descriptor that is written in a statement, and not the name of a file."""


def file_of(stated: RecordFormat) -> tuple[str, str] | None:
    """Return the option of a format that names a file, and the name; None if it names none."""
    if stated.schema is not None and names_file(stated.schema):
        return "schema", stated.schema
    if stated.descriptor is not None and not stated.descriptor.startswith(WRITTEN_BYTES):
        return "descriptor", stated.descriptor
    return None


def names_file(schema: str) -> bool:
    """Return whether a schema of Avro is the name of a file: a schema itself is JSON, and begins with a bracket or a quote."""
    return not schema.lstrip().startswith(("{", "[", '"'))


def check_format(name: str) -> None:
    """Check the name of a format.

    Raises:
        InvalidPatternError: there is none of that name.
    """
    if name not in RECORD_FORMATS:
        message = f"there is no format {show(name)}"
        hint = did_you_mean(name, RECORD_FORMATS) or f"the formats are {', '.join(RECORD_FORMATS)}"
        raise InvalidPatternError(message, hint=hint)


def check_option(name: str, option: str, value: str | bool | tuple[str, ...] | FieldPath) -> None:
    """Check one option of a format, and its value.

    Raises:
        InvalidPatternError: the format does not have it, or the value is wrong.
    """
    options = RECORD_FORMATS[name]
    if option not in options:
        message = f"the format {name} has no option {option.upper()}"
        if option == "pattern":
            message = f"the format {name} takes no text"
        listed = ", ".join(sorted(each.upper() for each in options - {"pattern"}))
        raise InvalidPatternError(message, hint=f"its options are {listed}" if listed else "it has no options")
    match value:
        case tuple():
            _check_columns(value)
        case str():
            _check_text(option, value)


def _check_text(option: str, value: str) -> None:
    match option:
        case "delimiter" | "comment" if not 0 < len(value) <= LONGEST_DELIMITER or "\n" in value or "\r" in value:
            message = f"{option.upper()} is 1 to {LONGEST_DELIMITER} characters of a line, not {show(value)}"
            raise InvalidPatternError(message)
        case "quote" if len(value) > 1 or value in {"\n", "\r"}:
            message = f"QUOTE is one character, not {show(value)}"
            raise InvalidPatternError(message, hint="write QUOTE none for fields without quotation marks")
        case "decimal" if value not in {".", ","}:
            message = f"DECIMAL is '.' or ',', not {show(value)}"
            raise InvalidPatternError(message)
        case "encoding" if value not in ENCODINGS:
            message = f"there is no encoding {show(value)}"
            raise InvalidPatternError(message, hint=did_you_mean(value, ENCODINGS) or f"one of {', '.join(ENCODINGS)}")
        case "schema" | "descriptor" if not 0 < len(value) <= LONGEST_SCHEMA:
            message = f"{option.upper()} is a text of 1 to {LONGEST_SCHEMA:,} characters"
            raise InvalidPatternError(message)
        case "message" | "row" if not 0 < len(value) <= LONGEST_NAME:
            message = f"{option.upper()} is a text of 1 to {LONGEST_NAME:,} characters"
            raise InvalidPatternError(message)
        case "pattern":
            check_regex(value)
            if not group_names(value):
                message = "the regular expression names no field"
                raise InvalidPatternError(message, hint="name the groups that are fields: (?P<host>[^ ]+)")


def _check_columns(columns: tuple[str, ...]) -> None:
    if len(columns) > MOST_COLUMNS:
        message = f"a file has at most {MOST_COLUMNS:,} columns"
        raise InvalidPatternError(message)
    if not columns or "" in columns:
        message = "a column has no name"
        raise InvalidPatternError(message)
    seen: set[str] = set()
    for column in columns:
        if column in seen:
            message = f"COLUMNS names {show(column)} twice"
            raise InvalidPatternError(message)
        seen.add(column)
