"""Build the returned fields of a match from the matcher's values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.edge import Value
    from graphtide_core.returns import Field, FieldValue


def named_values(fields: Sequence[Field], values: Sequence[Value | list[Value]]) -> dict[str, FieldValue]:
    """Return values by the names of their fields; lists as tuples."""
    return {field.name: tuple(value) if isinstance(value, list) else value for field, value in zip(fields, values, strict=True)}
