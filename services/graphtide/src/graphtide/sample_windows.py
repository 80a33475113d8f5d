"""What the EMIT clauses of a statement give of a sample: its records in order, without duplicates, through the windows.

As in a run over the sample, a window gives nothing before a record goes past its end.
Memory and cost: O(records of the sample).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_core.stream_emissions import ID_PREFIX
from graphtide_core.time import MAX_EVENT_TIME
from graphtide_native.features import StreamFeatures
from graphtide_native.records import Duplicates, Sequencer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_native.records import EdgeBatch


class SampleWindows:
    """Collects the records of a sample for the EMIT clauses of its statement; without such clauses it keeps nothing."""

    def __init__(self, definition: StreamDefinition) -> None:
        """Start before the first record."""
        self._definition = definition
        # A sample is whole, so no record is late: all wait for the end.
        self._sequencer = Sequencer(MAX_EVENT_TIME)

    def add(self, batch: EdgeBatch) -> None:
        """Take the next records."""
        if self._definition.windows.emissions:
            self._sequencer.push(batch)

    def emitted(self) -> Iterator[dict[str, Any]]:
        """Yield what is emitted in its order, as `EdgeBatch.to_records` has it; call it once."""
        if not self._definition.windows.emissions:
            return
        waiting = self._sequencer.finish()
        if waiting is None:
            return
        ordered = Duplicates(MAX_EVENT_TIME, replaces=self._definition.duplicates is DuplicatePolicy.UPDATE).filter(waiting)
        counted = StreamFeatures(self._definition.windows, self._definition.unit).add_to(ordered)
        yield from (record for record in counted.to_records() if record["id"].startswith(ID_PREFIX))
