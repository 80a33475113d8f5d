"""The default lateness of a stream in services: how much later than a newer edge an edge may come.

Producers that run beside each other send edges of one moment in any order. Without a lateness the first edge that is taken
makes an edge of another producer late that is a millisecond older. With `low-latency` edges pass at once, and none waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.time import Duration
from graphtide_log.profile import Profile

if TYPE_CHECKING:
    from graphtide_core.time import TimeUnit

DEFAULT_LATENESS: Final = Duration(1, "s")


def lateness_of(said: int | None, unit: TimeUnit, profile: Profile = Profile.THROUGHPUT) -> int:
    """Return the lateness of a stream in ticks: the setting, else a second, and 0 under `low-latency`."""
    if said is not None:
        return said
    return DEFAULT_LATENESS.ticks_at_least(unit) if profile is Profile.THROUGHPUT else 0
