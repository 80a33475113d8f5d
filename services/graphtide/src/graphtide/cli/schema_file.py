"""Files that declare types of attributes: `{"attributes": {"zip": "string"}}`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from graphtide_core.attribute_type import AttributeType, declared_types
from graphtide_core.errors import InvalidQueryError, UnreadableStreamError

if TYPE_CHECKING:
    from pathlib import Path


def read_schema(path: Path) -> dict[str, AttributeType]:
    """Read the types of a schema file.

    Raises:
        UnreadableStreamError: it cannot be read, or is not a schema.
    """
    try:
        return declared_types(msgspec.json.decode(path.read_bytes(), type=_Schema).attributes)
    except FileNotFoundError as error:
        message = f"{path}: no such file"
        raise UnreadableStreamError(message) from error
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror or error})"
        raise UnreadableStreamError(message) from error
    except (msgspec.MsgspecError, UnicodeDecodeError, InvalidQueryError) as error:
        message = f"{path}: this is not a schema: {error}"
        raise UnreadableStreamError(message) from error


class _Schema(msgspec.Struct, forbid_unknown_fields=True):
    """What a schema file holds: types by the names of attributes."""

    attributes: dict[str, str]
