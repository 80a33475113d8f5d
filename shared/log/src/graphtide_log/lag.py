"""How far a reader is behind its log: how old its records are when it reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from graphtide_core.ports.log import Record
    from graphtide_telemetry.instruments import Attributes, Observed


@dataclass(slots=True)
class Lag:
    """The lag of one reader, in `seconds`; asking the log for its end would cost a request for each look."""

    attributes: Attributes
    seconds: float = 0.0

    def polled(self, records: Sequence[Record], now: datetime) -> None:
        """Note the records of a `poll`, in the order of the log; without records the reader has caught up."""
        self.seconds = max(0.0, now.timestamp() - records[-1].timestamp / 1000) if records else 0.0

    def observed(self) -> Iterable[Observed]:
        """Return the lag now."""
        return [(self.seconds, self.attributes)]
