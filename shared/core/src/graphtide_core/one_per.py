"""One report for each key in each interval of time: `REPORT … ONE PER key EVERY 10m` in the language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphtide_core.predicate import Expression
    from graphtide_core.time import Duration


@dataclass(frozen=True, slots=True)
class OnePer:
    """Of the matches whose keys are equal, the first in each interval is reported; the others are counted.

    The interval of a match is [k·every, (k+1)·every) of its `detected_at`, with an integer k. A key that is missing is a key.
    """

    keys: tuple[Expression, ...]
    every: Duration
