"""How a stream is put in order: the settings of its sequencer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.duplicate_policy import DuplicatePolicy

if TYPE_CHECKING:
    from graphtide_ordering.raw_decoding import Ahead


@dataclass(frozen=True, slots=True)
class Ordering:
    """How a stream is put in order.

    Attributes:
        lateness: most ticks that an edge may come later than one that is newer.
        idle_seconds: a source that is silent for so long is not waited for.
        most_pending: edges that may wait.
        ahead: how far ahead of the clock an edge may be; None is any time.
        live: ticks of a second that time advances by while all sources are idle; 0 lets it stand still until an edge comes.
        duplicates: what happens to an edge under a known id; each is a dead letter if it is an error.
    """

    lateness: int = 0
    idle_seconds: float = 5.0
    most_pending: int = 1 << 20
    ahead: Ahead | None = None
    live: int = 0
    duplicates: DuplicatePolicy = DuplicatePolicy.REJECT
