"""What a deployment is tuned for, said once for all services on an edge's way."""

from __future__ import annotations

from enum import Enum


class Profile(Enum):
    """What comes first where both cannot be had."""

    THROUGHPUT = "throughput"
    """Fewer, larger transactions and requests."""

    LOW_LATENCY = "low-latency"
    """Edges wait for others for milliseconds alone; the log has several times as many transactions to do."""
