"""The one place where the counters are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.time import Duration
from graphtide_log.deployment_topics import topics_on
from graphtide_serving.clock import SystemClock

from graphtide_statistics.application.counter import Counter, CounterSettings
from graphtide_statistics.application.match_counter import MatchCounter

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log

    from graphtide_statistics.settings import StatisticsSettings


def match_counter(settings: StatisticsSettings, log: Log) -> MatchCounter:
    """Return the counter of reported matches on a log."""
    return MatchCounter(log, topics_on(log, settings.prefix), SystemClock())


def counter(settings: StatisticsSettings, log: Log) -> Counter:
    """Return the counter on a log."""
    counting = CounterSettings(Duration(settings.longest_window_seconds, "s"), settings.publish_seconds)
    return Counter(log, topics_on(log, settings.prefix), SystemClock(), counting)
