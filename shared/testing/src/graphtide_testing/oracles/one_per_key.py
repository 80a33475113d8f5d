"""Which matches are emitted: the definitions of DISTINCT and ONE PER, step by step.

The caller hands matches over one by one, ordered by three keys. First comes when they were detected, then the record that came
last of each. Then come their records in the order of the text, the earliest first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.edge import Value
    from graphtide_core.one_per import OnePer
    from graphtide_core.time import TimeUnit


class OncePerKey:
    """Says of one match after the other whether it is emitted. Without ONE PER all are."""

    def __init__(self, one_per: OnePer | None, unit: TimeUnit) -> None:
        """Start with nothing emitted."""
        self._every = None if one_per is None else one_per.every.ticks(unit)
        self._emitted: set[tuple[object, ...]] = set()

    def emits(self, detected_at: int, keys: Sequence[Value]) -> bool:
        """Take a match with the values of its keys; say whether it is emitted, and remember it if so."""
        if self._every is None:
            return True
        emitted = (detected_at // self._every, *map(_known_apart, keys))
        if emitted in self._emitted:
            return False
        self._emitted.add(emitted)
        return True


def _known_apart(value: Value) -> object:
    """Return what is equal for equal values alone: to Python, true is 1."""
    return (type(value) is bool, value)
