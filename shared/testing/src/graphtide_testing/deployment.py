"""A whole deployment as processes on this machine: real servers, and the services as their operators run them.

Services are known by the names of their modules alone; variables of the environment set everything else.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphtide_wire.topics import Topics

from graphtide_testing.servers.kafka import KafkaBrokers, KafkaServer
from graphtide_testing.servers.process import Process
from graphtide_testing.servers.redis import RedisServer
from graphtide_testing.servers.redis_several import RedisSentinelServers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from graphtide_testing.servers.process import Usage


class Program:
    """One service's process, which can be killed and started again.

    Attributes:
        starts: how often it was started.
    """

    def __init__(self, module: str, folder: Path, environment: Mapping[str, str]) -> None:
        """Run `python -m module` in a folder of its own."""
        self._command = [sys.executable, "-m", module]
        self._environment = environment
        folder.mkdir(parents=True, exist_ok=True)
        self._process = Process(module, folder)
        self.starts = 0

    @property
    def output(self) -> Path:
        """Where what it prints goes."""
        return self._process.output

    def start(self, is_ready: Callable[[], bool] = lambda: True) -> None:
        """Start it; return when `is_ready` says so.

        Raises:
            ServerError: it ended, or is not ready in time.
        """
        self.starts += 1
        self._process.start(self._command, is_ready, self._environment)

    def is_running(self) -> bool:
        """Return whether it has not ended."""
        return self._process.is_running()

    def usage(self) -> Usage:
        """Return what it takes."""
        return self._process.usage()

    def kill(self) -> None:
        """End it at once, as a crash does."""
        self._process.kill()

    def stop(self) -> None:
        """Ask it to end, and wait."""
        self._process.stop()


class Deployment:
    """Kafka, Redis and services that use them.

    Attributes:
        kafka: the broker, or the brokers.
        redis: where checkpoints are kept; under sentinels, the first primary.
        sentinels: those, with that primary and a replica; None if Redis is one server.
        topics: names of all topics.
    """

    def __init__(
        self,
        folder: Path,
        prefix: str = "test",
        surroundings: Mapping[str, str] | None = None,
        *,
        brokers: int = 1,
        sentinels: bool = False,
    ) -> None:
        """Keep everything in a folder; nothing is started. `surroundings` are variables that every service gets as they are.

        With `sentinels`, Redis is a primary with a replica that takes over.
        """
        self._surroundings = surroundings or {}
        self._folder = folder
        self.kafka = KafkaServer(folder / "kafka") if brokers == 1 else KafkaBrokers(folder / "kafka", brokers)
        self.sentinels = RedisSentinelServers(folder / "redis") if sentinels else None
        self.redis = RedisServer(folder / "redis") if self.sentinels is None else self.sentinels.primary
        self._all_of_redis = self.sentinels or self.redis
        self.topics = Topics(prefix)
        self._programs: list[Program] = []

    def start_servers(self) -> None:
        """Start Kafka and Redis.

        Raises:
            ServerError: one does not start.
        """
        for name in ("kafka", "redis"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        self.kafka.start()
        self._all_of_redis.start()

    def service(
        self,
        name: str,
        environment: Mapping[str, str] | None = None,
        *,
        instance: str = "",
        surroundings: Mapping[str, str] | None = None,
    ) -> Program:
        """Return the program of a service (`matcher_timing`), not started.

        `environment` lacks the service's own prefix; `surroundings` are more variables, as they are.
        """
        own = {
            "KAFKA__BOOTSTRAP": self.kafka.bootstrap,
            "REDIS": self._all_of_redis.url,
            "PREFIX": self.topics.prefix,
            "HEALTH__PORT": "0",
        }
        prefix = f"GRAPHTIDE_{name.upper()}_"
        configured = {prefix + key: value for key, value in (own | dict(environment or {})).items()} | dict(self._surroundings)
        configured |= surroundings or {}
        program = Program(f"graphtide_{name}", self._folder / f"{name}{instance}", configured)
        self._programs.append(program)
        return program

    def end(self) -> None:
        """End everything at once."""
        for program in self._programs:
            program.kill()
        self.kafka.kill()
        self._all_of_redis.kill()
