"""How far a query that consumes has come: state that does not follow from the edges of its lookback."""

from __future__ import annotations

from typing import NamedTuple


class ConsumptionCursor(NamedTuple):
    """How far a query that consumes has come in the stream: the edge there, and all before it, take no part any more.

    Attributes:
        at: time of that edge; the least of all where nothing was consumed.
        ties: how many edges of that time that the query could use had arrived with it, those deleted since included.
    """

    at: int
    ties: int
