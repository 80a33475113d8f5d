"""The one place where the service is put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_matcher_host.settings import host

if TYPE_CHECKING:
    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_core.ports.log import Log
    from graphtide_core.ports.partial_matches import PartialMatchStore
    from graphtide_matcher_host.host import MatcherHost
    from graphtide_matcher_host.settings import MatcherSettings

SERVICE: Final = "matcher_event_pattern"
"""What plans call it."""


def matcher(
    settings: MatcherSettings,
    log: Log,
    checkpoints: CheckpointStore | None = None,
    partial_matches: PartialMatchStore | None = None,
) -> MatcherHost:
    """Return the host of a shard on a log, and on the stores that the settings name unless others are given."""
    return host(SERVICE, settings, log, checkpoints, partial_matches)
