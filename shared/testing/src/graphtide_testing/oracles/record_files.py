"""The records of a file as a statement names its format, read whole and the plain way."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree

from graphtide_core.record_format import WHITESPACE, RecordFormat

from graphtide_testing.oracles.exact_ends import end_exactly
from graphtide_testing.oracles.record_decoding import decode_field, decode_json
from graphtide_testing.oracles.stream_records import unnest_surrounded
from graphtide_testing.oracles.syslog import read_syslog

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from graphtide_core.stream_definition import StreamDefinition

_NUMBERS: Final = frozenset({"time", "interval", "double", "count", "int", "port"})
_LINES: Final = RecordFormat("jsonl")


def read_records(definition: StreamDefinition, data: bytes) -> list[object]:
    """Return the decoded records of a file, in their order; without a format it is lines of JSON.

    Words for missing values count for a field as it is written: `-1` may be one, where JSON has a number.
    """
    stated = definition.format or _LINES
    text = data.decode(stated.encoding or "utf-8")
    match stated.name:
        case "jsonl" | "json":
            documents = read_documents(definition, data)
            return [record for document in documents for record in unnest_surrounded(document, stated.unnest)]
        case "zeek":
            return _read_zeek(text, definition.nulls)
        case "csv":
            return _read_csv(stated, text, definition.nulls)
        case "regex":
            expression = re.compile(end_exactly(stated.pattern or ""), re.ASCII)
            return [_match_line(expression, line, definition.nulls) for line in text.split("\n") if line]
        case "syslog":
            return [
                read_syslog(line.removesuffix("\r"), definition.nulls) for line in text.split("\n") if line not in {"", "\r"}
            ]
        case "xml":
            rows = ElementTree.fromstring(text.encode()).iter(stated.row)  # noqa: S314 - a file of a test
            return [{name: decode_field(field, definition.nulls) for name, field in row.attrib.items()} for row in rows]
    raise NotImplementedError(stated.name)


def read_documents(definition: StreamDefinition, data: bytes) -> list[object]:
    """Return the values of a file of JSON, in which records may be nested."""
    stated = definition.format or _LINES
    text = data.decode(stated.encoding or "utf-8")
    return [decode_json(line) for line in text.splitlines()] if stated.name == "jsonl" else _documents(text)


def _documents(text: str) -> list[object]:
    """Return the values of JSON that stand one after the other."""
    found, place = [], 0
    while rest := text[place:].lstrip():
        _, length = json.JSONDecoder().raw_decode(rest)
        found.append(decode_json(rest[:length]))
        place = len(text) - len(rest) + length
    return found


def _match_line(expression: re.Pattern[str], line: str, nulls: Container[str]) -> object:
    """Return the fields of a line; one that the expression does not match is not a record with fields."""
    found = expression.search(line)
    return line if found is None else {name: decode_field(field or "", nulls) for name, field in found.groupdict().items()}


def _read_csv(stated: RecordFormat, text: str, nulls: Container[str]) -> list[object]:
    lines = [line for line in text.splitlines() if line and not (stated.comment and line.startswith(stated.comment))]
    if stated.delimiter == WHITESPACE:
        rows = [re.split("[ \t]+", line.strip(" \t")) for line in lines]
    else:
        delimiter = stated.delimiter or ","
        if stated.quote == "":
            rows = list(csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE))
        else:
            rows = list(csv.reader(lines, delimiter=delimiter, quotechar=stated.quote or '"'))
    columns: Sequence[str]
    if stated.columns is not None:
        columns = stated.columns
    elif stated.header is False:
        columns = [str(place + 1) for place in range(max(map(len, rows), default=0))]
    else:
        columns, *rows = rows
    decimal = stated.decimal or "."
    return [
        {name: decode_field(field, nulls, decimal=decimal) for name, field in zip(columns, row, strict=True)} for row in rows
    ]


def _read_zeek(text: str, nulls: tuple[str, ...]) -> list[object]:
    separator, unset, empty = "\t", "-", "(empty)"
    columns: list[str] = []
    types: list[str] = []
    records: list[object] = []
    for line in text.splitlines():
        if line.startswith("#separator "):
            separator = line.partition(" ")[2].encode().decode("unicode_escape")
            continue
        name, *words = line.split(separator)
        match name:
            case "#unset_field":
                (unset,) = words
            case "#empty_field":
                (empty,) = words
            case "#fields":
                columns = words
            case "#types":
                types = words
            case _ if not line.startswith("#"):
                fields = zip(columns, types, [name, *words], strict=True)
                records.append({column: _value(kind, word, (*nulls, unset, empty)) for column, kind, word in fields})
    return records


def _value(kind: str, word: str, nulls: tuple[str, ...]) -> object:
    if word in nulls:
        return None
    if kind == "bool":
        return word == "T"
    return decode_field(word) if kind in _NUMBERS else word
