"""The stages of a run: what decodes a stream, puts it in order, drops duplicates, counts and matches it.

Invariant: the stages of one run share the table of labels, the attributes in their order, and the unit of times. A batch holds
places in the first two, so one that was decoded with others would be read as something else. Code that runs patterns makes its
stages here, and combines them as its stream needs: which stages, when plans are made, and where matches go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self, TypedDict

from graphtide_native.matcher import Matcher
from graphtide_native.records import ArrowDecoder, JsonLinesDecoder, Sequencer, Symbols, ticks_per_second
from graphtide_native.spec import columns
from graphtide_native.statistics import StreamStatistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Unpack

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.plans import AnyPlan
    from graphtide_core.time import TimeUnit

    from graphtide_native.spec import Concurrency, Limits

WHOLE: Final = 2**63 - 1
"""A lateness, or a number of records, with which a stream is put in order as a whole."""


class Running(TypedDict, total=False):
    """How plans run, as `Matcher` takes it."""

    deletions: bool
    adaptive: bool
    traced: int | None
    asked: Sequence[str]
    limits: Limits | Sequence[Limits] | None
    concurrency: Concurrency | None
    work: int | None


@dataclass(frozen=True, slots=True)
class Stages:
    """Makes the stages of one run.

    Attributes:
        unit: what times count.
        attributes: that records are decoded with, in order.
        symbols: the table of labels.
    """

    unit: TimeUnit
    attributes: tuple[str, ...]
    symbols: Symbols = field(default_factory=Symbols)

    @classmethod
    def of(cls, patterns: Iterable[AnyPattern], unit: TimeUnit) -> Self:
        """Return those of a new run of patterns, with the attributes that they read."""
        return cls(unit, columns(patterns))

    def arrow_decoder(self) -> ArrowDecoder:
        """Return what decodes Arrow IPC."""
        return ArrowDecoder(self.symbols, self.attributes, {}, ticks_per_second(self.unit))

    def json_decoder(self, *, keep_raw: bool = False) -> JsonLinesDecoder:
        """Return what decodes JSON Lines."""
        return JsonLinesDecoder(self.symbols, self.attributes, {}, keep_raw=keep_raw)

    def sequencer(self, lateness: int = WHOLE, most_pending: int = WHOLE) -> Sequencer:
        """Return what puts records in order."""
        return Sequencer(lateness, most_pending)

    def statistics(self) -> StreamStatistics:
        """Return what counts records."""
        return StreamStatistics(self.symbols)

    def matcher(self, plans: Sequence[AnyPlan], **running: Unpack[Running]) -> Matcher:
        """Return what matches records."""
        return Matcher(plans, self.symbols, self.attributes, unit=self.unit, **running)
