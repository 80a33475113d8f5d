"""A record of a stream: what its fields are called."""

from __future__ import annotations

from typing import Final

RECORD_COLUMNS: Final = ("ts", "src", "dst", "label", "src_label", "dst_label", "id", "op", "type")
"""Fields of a record that a stream may call otherwise."""
