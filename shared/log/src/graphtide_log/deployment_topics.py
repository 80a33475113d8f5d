"""The topics of a deployment whose log may hold merged streams under their old names (ADR 33)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from graphtide_core.ports.log import Log


def topics_on(log: Log, prefix: str) -> Topics:
    """Return the names of topics on a log. Each name of a merged stream's topic costs one request to the broker."""
    return Topics(prefix, lambda topic: topic in log.admin().topics())
