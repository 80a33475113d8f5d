"""What is counted of a stream in windows: features of its records, and what EMIT gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.stream_features import FIELDS
from graphtide_core.suggestion import did_you_mean, show
from graphtide_core.time import MAX_EVENT_TIME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from graphtide_core.stream_emissions import Emission
    from graphtide_core.stream_features import Feature
    from graphtide_core.time import TimeUnit


@dataclass(frozen=True, slots=True)
class StreamWindows:
    """The FEATURE and EMIT clauses of a stream, each in the order of the text."""

    features: tuple[Feature, ...] = ()
    emissions: tuple[Emission, ...] = ()

    def __bool__(self) -> bool:
        """Return whether anything is counted."""
        return bool(self.features or self.emissions)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The attributes that are read, each once."""
        return tuple(dict.fromkeys(name for each in self._clauses() for name in each.names() if name not in FIELDS))

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that are given, each once."""
        emitted = (name for each in self.emissions for name in each.attributes)
        return tuple(dict.fromkeys((*(each.name for each in self.features), *emitted)))

    def longest(self, unit: TimeUnit) -> int:
        """Return the ticks of the longest window; 0 without any.

        What a record of time `t` brings about follows from the records later than `t` less these ticks.
        """
        lengths = (*(each.longest for each in self.features), *(each.every for each in self.emissions))
        return max((min(each.ticks_at_least(unit), MAX_EVENT_TIME) for each in lengths), default=0)

    def read_by(self, attributes: Collection[str]) -> StreamWindows:
        """Return what is there for patterns that read these attributes: features that none reads are left out."""
        return StreamWindows(tuple(each for each in self.features if each.name in attributes), self.emissions)

    def refuse_unknown_inputs(self, columns: Sequence[str]) -> None:
        """Do nothing if a stream with these columns has what is read.

        Raises:
            InvalidPatternError: it does not, so nothing would be counted.
        """
        for name, message in self.unknown_inputs(columns).items():
            hint = did_you_mean(name, columns) or f"the stream's columns are {', '.join(columns)}"
            raise InvalidPatternError(message, hint=hint)

    def unknown_inputs(self, columns: Collection[str]) -> dict[str, str]:
        """Return the attributes that are read and that a stream with these columns lacks, each with a sentence that says so."""
        found: dict[str, str] = {}
        for clause in self._clauses():
            for each in clause.names():
                if each not in FIELDS and each not in columns:
                    found.setdefault(each, f"{_describe(clause)}: the stream has no attribute {show(each)}")
        return found

    def _clauses(self) -> Iterator[Feature | Emission]:
        yield from self.features
        yield from self.emissions


def _describe(clause: Feature | Emission) -> str:
    return f"EMIT {show(clause.label)}" if hasattr(clause, "label") else f"feature {show(clause.name)}"
