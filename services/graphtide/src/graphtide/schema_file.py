"""Declarations of types of attributes, in a file or by themselves: `{"attributes": {"zip": "string"}}`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from graphtide_core.attribute_type import AttributeType, declared_types
from graphtide_core.errors import InvalidQueryError, UnreadableStreamError

from graphtide.text_file import read_bytes_file

if TYPE_CHECKING:
    from collections.abc import Mapping


def declared_by(schema: str | os.PathLike[str] | Mapping[str, object]) -> dict[str, AttributeType]:
    """Return the types that a schema declares: a file's, or its content as a mapping.

    Raises:
        UnreadableStreamError: the file cannot be read, or is not a schema.
        ValueError: the content is not that of a schema.
    """
    if isinstance(schema, str | os.PathLike):
        return read_schema(Path(schema))
    try:
        return declared_types(msgspec.convert(schema, _Schema).attributes)
    except (msgspec.MsgspecError, InvalidQueryError) as error:
        message = f"schema: give a file, or {{'attributes': {{NAME: TYPE}}}}: {error}"
        raise ValueError(message) from error


def read_schema(path: Path) -> dict[str, AttributeType]:
    """Read the types of a schema file.

    Raises:
        UnreadableStreamError: it cannot be read, or is not a schema.
    """
    try:
        return declared_types(msgspec.json.decode(read_bytes_file(path), type=_Schema).attributes)
    except (msgspec.MsgspecError, UnicodeDecodeError, InvalidQueryError) as error:
        message = f"{path}: this is not a schema: {error}"
        raise UnreadableStreamError(message) from error


class _Schema(msgspec.Struct, forbid_unknown_fields=True):
    """What a schema file holds: types by the names of attributes."""

    attributes: dict[str, str]
