"""Record metrics of the registry with OpenTelemetry.

Instruments are the process's. Before `set_up` they count nothing; those made before count from then on. A call costs about a
microsecond, so it is made for batches, never for edges.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final

from opentelemetry.metrics import Observation, get_meter

from graphtide_telemetry import attributes as key
from graphtide_telemetry.names import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from opentelemetry.metrics import CallbackOptions, Counter, Histogram

    from graphtide_telemetry.names import Metric, Name

    Attributes = Mapping[Name, str | int]
    Observed = tuple[float, Attributes]
    """A value of a gauge."""

    Observe = Callable[[], Iterable[Observed]]
    """Gives the values of a gauge now; called by other threads."""

METER: Final = "graphtide"

_OBSERVERS: dict[Metric, list[Observe]] = {}
_LOCK = threading.Lock()


def add(metric: Metric, amount: int, attributes: Attributes | None = None) -> None:
    """Add to a counter; adding nothing makes no series."""
    if amount:
        _counter(metric).add(amount, _plain(attributes))


def record(metric: Metric, value: float, attributes: Attributes | None = None) -> None:
    """Take a value into a histogram."""
    _histogram(metric).record(value, _plain(attributes))


@contextmanager
def record_duration(metric: Metric, attributes: Attributes) -> Iterator[None]:
    """Record how long the block takes, and the class of the error that ended it, if any."""
    begun = time.perf_counter()
    try:
        yield
    except BaseException as error:
        record(metric, time.perf_counter() - begun, {**attributes, key.ERROR_TYPE: type(error).__name__})
        raise
    record(metric, time.perf_counter() - begun, attributes)


@contextmanager
def observe_gauge(metric: Metric, values: Observe) -> Iterator[None]:
    """Ask for a gauge's values here at every collection, while the block runs."""
    end = observe(metric, values)
    try:
        yield
    finally:
        end()


def observe(metric: Metric, values: Observe) -> Callable[[], None]:
    """Ask for a gauge's values here at every collection, until the returned function is called; that may be called twice."""
    with _LOCK:
        is_new = metric not in _OBSERVERS
        _OBSERVERS.setdefault(metric, []).append(values)
    if is_new:
        _make(metric)

    def end() -> None:
        with _LOCK:
            if values in _OBSERVERS[metric]:
                _OBSERVERS[metric].remove(values)

    return end


class Gauges:
    """Gauges that are reported together, until they are closed."""

    def __init__(self) -> None:
        """Report none."""
        self._ends: list[Callable[[], None]] = []

    def add(self, metric: Metric, values: Observe) -> None:
        """Report this one, too."""
        self._ends.append(observe(metric, values))

    def close(self) -> None:
        """Report none any more."""
        for end in self._ends:
            end()
        self._ends.clear()


def _plain(attributes: Attributes | None) -> dict[str, str | int]:
    return {str(name): value for name, value in (attributes or {}).items()}


@cache
def _counter(metric: Metric) -> Counter:
    return get_meter(METER).create_counter(metric.name, metric.unit, metric.meaning)


@cache
def _histogram(metric: Metric) -> Histogram:
    return get_meter(METER).create_histogram(
        metric.name, metric.unit, metric.meaning, explicit_bucket_boundaries_advisory=metric.bounds
    )


def _make(metric: Metric) -> None:
    def look(_: CallbackOptions) -> Iterable[Observation]:
        with _LOCK:
            observers = list(_OBSERVERS[metric])
        return [Observation(value, _plain(attributes)) for each in observers for value, attributes in each()]

    if metric.kind is Kind.GAUGE:
        get_meter(METER).create_observable_gauge(metric.name, [look], metric.unit, metric.meaning)
    else:
        get_meter(METER).create_observable_counter(metric.name, [look], metric.unit, metric.meaning)
