"""Flows as producers send them, for benchmarks."""

from __future__ import annotations

import json


def flow_lines(first: int, count: int) -> bytes:
    """Return edges as JSON Lines of about 106 bytes each, one a tick from `first` on, each with an id and two attributes."""
    records = (
        {"ts": ts, "src": f"10.0.{ts % 251}.{ts % 241}", "dst": f"10.1.{ts % 239}.{ts % 233}", "label": "tcp", "id": f"f{ts}"}
        | {"bytes": ts % 10_000, "port": ts % 1000}
        for ts in range(first, first + count)
    )
    return "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records).encode()
