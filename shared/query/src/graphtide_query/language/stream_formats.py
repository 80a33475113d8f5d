"""Bind the FORMAT clause of a STREAM statement: options by their names, words and texts to the values that they take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.record_expression import FieldPath
from graphtide_core.record_format import (
    ENCODINGS,
    RECORD_FORMATS,
    WHITESPACE,
    RecordFormat,
    check_format,
    check_option,
)
from graphtide_core.record_time import NAMED_FORMATS

from graphtide_query.language import ast, stream_ast
from graphtide_query.language.clauses import place_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS: Final[Mapping[str, Mapping[str, str | bool]]] = {
    "delimiter": {WHITESPACE: WHITESPACE, "tab": "\t"},
    "header": {"none": False, "first": True},
    "quote": {"none": ""},
    "encoding": {},
}
"""Options that take a word, without quotation marks, and what it means."""

_USAGE: Final[Mapping[str, str]] = {
    "delimiter": "DELIMITER ';', DELIMITER tab or DELIMITER whitespace",
    "header": "HEADER none, or HEADER first",
    "columns": "COLUMNS (ts, src, dst)",
    "comment": "COMMENT '#'",
    "quote": "QUOTE '\"', or QUOTE none",
    "decimal": "DECIMAL ','",
    "encoding": f"ENCODING 'latin-1'; the encodings are {', '.join(ENCODINGS)}",
    "unnest": "UNNEST Records",
    "schema": "SCHEMA 'flows.avsc'",
    "descriptor": "DESCRIPTOR 'flows.desc'",
    "message": "MESSAGE 'net.Flow'",
    "row": "ROW 'row'",
}
_TAKES_QUOTED_WORDS: Final = frozenset({"encoding"})

_Option = str | bool | tuple[str, ...] | FieldPath


def bind_format(node: stream_ast.FormatNode) -> RecordFormat:
    """Return the format with its options.

    Raises:
        InvalidPatternError: there is no such format, it does not have an option, or a value is wrong; with its place.
    """
    name = node.name.text.lower()
    if name in NAMED_FORMATS and name not in RECORD_FORMATS:
        message = f"{name} is a format of times, which stands in quotation marks"
        raise InvalidPatternError(message, node.name.location, hint=f"write AT ts FORMAT '{name}'")
    with place_errors(node.name.location):
        check_format(name)
    options: dict[str, _Option] = {}
    if node.pattern is not None:
        options["pattern"] = str(node.pattern.value)
        with place_errors(node.pattern.location):
            check_option(name, "pattern", options["pattern"])
    for each in node.options:
        option = each.option.text.lower()
        if option in options:
            message = f"FORMAT has a second {option.upper()}"
            raise InvalidPatternError(message, each.option.location, hint="keep one")
        options[option] = _bind_value(option, each)
        with place_errors(each.option.location):
            check_option(name, option, options[option])
    with place_errors(node.location):
        return RecordFormat(name, **options)  # type: ignore[arg-type]  # `_bind_value` gives each option its type


def _bind_value(option: str, node: stream_ast.OptionNode) -> _Option:
    match node.value:
        case ast.Constant(str() as text) if option not in {"unnest", "columns", "header"}:
            return text.lower() if option in _TAKES_QUOTED_WORDS else text
        case stream_ast.FieldNode(steps, location, outer) if option == "unnest":
            if outer or not all(isinstance(step, str | int) for step in steps):
                message = "UNNEST goes by names and positions alone"
                raise InvalidPatternError(message, location, hint="write WHERE for records that are not of the stream")
            with place_errors(location):
                return FieldPath(steps)
        case stream_ast.FieldNode((str() as word,)) if word.lower() in _WORDS.get(option, {}):
            return _WORDS[option][word.lower()]
        case tuple() as names if option == "columns":
            return tuple(name.text for name in names)
    message = f"{option.upper()} does not take this value"
    raise InvalidPatternError(message, node.option.location, hint=f"write {_USAGE[option]}")
