"""Names of engines that are needed before the plans of their families are."""

from __future__ import annotations

from enum import Enum
from typing import Final

AGGREGATION: Final = "aggregation"
"""Name of the engine of event patterns."""


class PathEngine(Enum):
    """The engine of a PATH."""

    S_PATH = "s-path"
    """The paths that end last; what has expired is passed over (paper 001, section 6.2.4)."""

    DELTA_TREE = "delta-tree"
    """Trees whose expired edges are taken out as deleted ones are, and derived anew (paper 001, section 6.2.3)."""
