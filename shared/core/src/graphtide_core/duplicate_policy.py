"""What a stream does with an id that comes again."""

from __future__ import annotations

from enum import Enum


class DuplicatePolicy(Enum):
    """What happens to an insert under an id that is known."""

    REJECT = "reject"
    """It is dropped and counted."""

    UPDATE = "update"
    """It replaces what is there: a deletion and an insert."""

    ERROR = "error"
    """The run ends."""
