"""The profile that a deployment is tuned for, set once for all services on an edge's way."""

from __future__ import annotations

from enum import Enum


class Profile(Enum):
    """Whether latency or throughput comes first."""

    THROUGHPUT = "throughput"
    """Fewer, larger transactions and requests."""

    LOW_LATENCY = "low-latency"
    """Edges wait for others for milliseconds alone; the log has several times as many transactions to do."""
