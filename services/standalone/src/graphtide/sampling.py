"""Label frequencies from the first records of a stream."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from graphtide_core.statistics import EdgeType, LabelFrequencies

if TYPE_CHECKING:
    from graphtide_native.records import EdgeBatch

SAMPLE = 5_000
"""Records looked at: enough to tell a rare label from a frequent one, few enough not to be noticed."""


def sample(batch: EdgeBatch, most: int = SAMPLE) -> LabelFrequencies:
    """Count the edge types of a batch's first records. Complexity: O(len(batch)), in Python."""
    records = [record for record in batch.to_records()[:most] if record["op"] == "insert"]
    if not records:
        return LabelFrequencies()
    counts = Counter(EdgeType(record["src_label"], record["label"], record["dst_label"]) for record in records)
    vertices = {end for record in records for end in (record["src"], record["dst"])}
    times = [record["ts"] for record in records]
    return LabelFrequencies(counts, len(records), len(vertices), max(times) - min(times))
