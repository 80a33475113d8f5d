"""What every matcher service must be: the host under its own name, set up by its own variables.

A service's tests subclass the suite and give it the fixture `parts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_log.memory import MemoryLog
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from graphtide_core.ports.checkpoints import CheckpointStore
    from graphtide_core.ports.log import Log
    from graphtide_matcher_host.host import MatcherHost
    from graphtide_matcher_host.settings import MatcherSettings


class Parts(NamedTuple):
    """What a matcher service consists of: what plans call it, its settings, and what puts it together."""

    service: str
    settings: type[MatcherSettings]
    matcher: Callable[[MatcherSettings, Log, CheckpointStore], MatcherHost]


class MatcherServiceContract:
    """A thin shell around the host."""

    def test_variables_of_the_environment_name_shard_and_servers(self, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
        """They begin with the service's name, and what is secret is not shown."""
        prefix = f"GRAPHTIDE_{parts.service.upper()}_"
        monkeypatch.setenv(f"{prefix}SHARD", "3")
        monkeypatch.setenv(f"{prefix}KAFKA__BOOTSTRAP", "kafka:9092")
        monkeypatch.setenv(f"{prefix}REDIS", "redis://:secret@redis:6379/1")
        settings = parts.settings()
        assert (settings.shard, settings.kafka.bootstrap) == (3, "kafka:9092")
        assert settings.redis.get_secret_value() == "redis://:secret@redis:6379/1"
        assert "secret" not in repr(settings)

    def test_the_host_has_the_name_that_plans_call_it_and_works_on_a_deployment_without_plans(self, parts: Parts) -> None:
        """It begins, takes a round and ends."""
        log = MemoryLog()
        log.admin().ensure(Topics("t").of_deployment())
        host = parts.matcher(parts.settings(prefix="t", shard=2, linger_seconds=0), log, MemoryCheckpoints())
        assert host.name == f"t.{parts.service}.2"
        host.open()
        host.step()
        host.close()
