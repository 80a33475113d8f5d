"""How a stream is divided into parts, as the data plane needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphtide_core.ids import StreamName
    from graphtide_core.part_key import PartKey


@dataclass(frozen=True, slots=True)
class Division:
    """How a stream is divided.

    Attributes:
        stream: that is divided.
        key: of its records.
        parts: how many parts it has.
    """

    stream: StreamName
    key: PartKey
    parts: int
