"""Names of the registry: text with its meaning.

A name is used where text is wanted, so everything that is reported has a name of the registry.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self


Entry = TypeVar("Entry")


class Name(str):
    """A name, and its meaning."""

    __slots__ = ("meaning",)
    meaning: str

    def __new__(cls, text: str, meaning: str) -> Self:
        """Return the name."""
        name = super().__new__(cls, text)
        name.meaning = meaning
        return name


class Kind(Enum):
    """How a metric is counted."""

    COUNTER = "counter"
    """A sum that only rises; `add`."""

    HISTOGRAM = "histogram"
    """How often values fell between bounds; `record`."""

    GAUGE = "gauge"
    """A value that is asked for at every collection; `observe`."""

    READ_COUNTER = "counter, asked for"
    """A sum that only rises and is asked for at every collection; `observe`."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric.

    Attributes:
        name: as OpenTelemetry has it.
        kind: how it is counted.
        unit: in UCUM; what is counted is in braces.
        meaning: in one sentence.
        attributes: its values differ by them; each has few values.
        bounds: of a histogram, in its unit.
    """

    name: str
    kind: Kind
    unit: str
    meaning: str
    attributes: tuple[Name, ...] = ()
    bounds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class SpanName:
    """A kind of span.

    Attributes:
        operation: what its name begins with; the rest is what it is done to.
        role: its kind in OpenTelemetry.
        meaning: in one sentence.
        attributes: that it may have.
    """

    operation: str
    role: str
    meaning: str
    attributes: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Alert:
    """A condition on metrics that operators are alerted to.

    Attributes:
        name: as Prometheus has it; the page of that name in `docs/runbooks` says what to do.
        severity: `critical` where nothing works before a person acts, `warning` otherwise.
        minutes: how long it has to last.
        expression: of Prometheus, with words that the chart replaces. `%HERE%` selects series of the release, `%HTTP%` those of
            its users' requests, `%SEQUENCER%` those of its sequencer. `%THRESHOLD%` is the value of `threshold`.
        metrics: that the expression reads; empty for one on whether metrics come at all.
        when: what holds then, in words.
        summary: in a few words, with the labels that Prometheus puts in.
        description: in one sentence, likewise.
        threshold: the chart's value, below `monitoring.rules`, that `%THRESHOLD%` is; None where there is none.
        needs: the part of a release that the alert is about; without it the alert is left out. None is any.
    """

    name: str
    severity: str
    minutes: int
    expression: str
    metrics: tuple[Metric, ...]
    when: str
    summary: str
    description: str
    threshold: str | None = None
    needs: str | None = None


def entries(module: Mapping[str, object], kind: type[Entry]) -> list[Entry]:
    """Return what a module of the registry defines of a kind, in its order."""
    return [found for name, found in module.items() if isinstance(found, kind) and not name.startswith("_")]
