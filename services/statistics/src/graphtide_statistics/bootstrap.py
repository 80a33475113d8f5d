"""The one place where the counter is put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.time import Duration
from graphtide_runtime.clock import SystemClock
from graphtide_runtime.kafka import KafkaLog
from graphtide_wire.topics import Topics

from graphtide_statistics.application.counter import Counter, CounterSettings

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log

    from graphtide_statistics.settings import StatisticsSettings


def counter(settings: StatisticsSettings, log: Log | None = None) -> Counter:
    """Return the counter, on the log that the settings name unless another is given."""
    counting = CounterSettings(Duration(settings.longest_window_seconds, "s"), settings.publish_seconds)
    place = log or KafkaLog(settings.kafka.connection("graphtide-statistics"))
    return Counter(place, Topics(settings.prefix), SystemClock(), counting)
