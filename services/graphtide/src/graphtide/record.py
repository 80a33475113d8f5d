"""A record of a stream: what its fields are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

RECORD_COLUMNS: Final = ("ts", "src", "dst", "label", "src_label", "dst_label", "id", "op", "type")
"""Fields of a record that a stream may call otherwise."""

DISPENSABLE: Final = ("src_label", "dst_label", "id", "op", "type")
"""Those that a record can do without: a stream may be read as if it had no such column."""

_NOWHERE: Final = "\0"
"""How the name of a column begins that no stream has."""


def columns_to_read(columns: Mapping[str, str]) -> dict[str, str]:
    """Return a mapping as decoders take it: a field without a column, mapped to an empty name, gets one that no stream has."""
    return {name: actual or f"{_NOWHERE}{name}" for name, actual in columns.items()}


def is_nowhere(column: str) -> bool:
    """Return whether a column is one that no stream has."""
    return column.startswith(_NOWHERE)


def flaw_of_delimiter(text: str) -> str:
    """Return why a text cannot separate the fields of CSV; empty if it can."""
    if text and not any(each in text for each in '"\n\r\0'):
        return ""
    return f"{text[:40]!r} cannot separate fields: give a character or several that are neither quotes nor line ends"
