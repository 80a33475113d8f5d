"""What became of a micro-batch, and how long it took: it goes to the driver, which reports metrics."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeVar

    _Item = TypeVar("_Item")


class Measured(msgspec.Struct):
    """Counts and times of one micro-batch.

    Attributes:
        stream: its name.
        records: raw records that it took.
        outcomes: edges by what became of them, as `metrics.SEQUENCED_EDGES` has them.
        pending: edges that wait after it.
        lag: seconds of the stream's time from the watermark to the newest edge; None before the first edge.
        is_rebuilt: whether the state in memory was another's or none, and was made again of what was kept.
        seconds: by stage: `read` (with decoding), `order`, `commit`.
    """

    stream: str = ""
    records: int = 0
    outcomes: dict[str, int] = {}
    pending: int = 0
    lag: float | None = None
    is_rebuilt: bool = False
    seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time of a block as that of a stage, less what stages within it count."""
        begun, within = time.perf_counter(), sum(self.seconds.values())
        try:
            yield
        finally:
            passed = time.perf_counter() - begun - (sum(self.seconds.values()) - within)
            self.seconds[name] = self.seconds.get(name, 0.0) + passed

    def reading(self, items: Iterable[_Item]) -> Iterator[_Item]:
        """Yield what is read, and count the time until it is there as that of the stage `read`."""
        given = iter(items)
        while True:
            with self.stage("read"):
                found = next(given, None)
            if found is None:
                return
            yield found
