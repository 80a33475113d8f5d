"""The service is the host under its own name, told by its own variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_matcher_algebra.bootstrap import SERVICE, matcher
from graphtide_matcher_algebra.settings import Settings
from graphtide_runtime.checkpoints.memory import MemoryCheckpoints
from graphtide_runtime.memory import MemoryLog
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    import pytest


def test_variables_of_the_environment_name_shard_and_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHTIDE_MATCHER_ALGEBRA_SHARD", "3")
    monkeypatch.setenv("GRAPHTIDE_MATCHER_ALGEBRA_KAFKA__BOOTSTRAP", "kafka:9092")
    monkeypatch.setenv("GRAPHTIDE_MATCHER_ALGEBRA_REDIS", "redis://:secret@redis:6379/1")
    settings = Settings()
    assert (settings.shard, settings.kafka.bootstrap) == (3, "kafka:9092")
    assert settings.redis.get_secret_value() == "redis://:secret@redis:6379/1"
    assert "secret" not in repr(settings)


def test_the_host_has_the_name_that_plans_call_it_and_works_on_a_deployment_without_plans() -> None:
    log = MemoryLog()
    log.admin().ensure(Topics("t").of_deployment())
    host = matcher(Settings(prefix="t", shard=2, linger_seconds=0), log, MemoryCheckpoints())
    assert host.name == f"t.{SERVICE}.2"
    host.open()
    host.step()
    host.close()
