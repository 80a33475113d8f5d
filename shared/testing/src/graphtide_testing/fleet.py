"""The processes of a deployment by name, killed and started again during a story."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from graphtide_testing.servers.process import free_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from graphtide_testing.deployment import Deployment, Program
    from graphtide_testing.servers import RedisSentinelServers

KAFKA: Final = "kafka"
REDIS: Final = "redis"
REDIS_FAILOVER: Final = "redis fails over"
REDIS_FLUSH: Final = "redis forgets"
TWIN: Final = "twin"


@dataclass
class Fleet:
    """Services of a deployment, each under the name that it was given; kills are counted by name.

    Attributes:
        deployment: the servers; they run.
        rng: decides how long a process is away.
        programs: by name.
        kills: how many processes were killed, by what they are.
        replaced: how many were stopped, and others started in their places.
    """

    deployment: Deployment
    rng: Random
    programs: dict[str, Program] = field(default_factory=dict)
    kills: dict[str, int] = field(default_factory=dict)
    replaced: int = 0
    _settings: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)

    def add(self, service: str, settings: dict[str, str], name: str = "", is_ready: Callable[[], bool] = lambda: True) -> None:
        """Start a service; `settings` lack its prefix, and its own name serves as a name.

        Raises:
            ServerError: it does not start.
        """
        name = name or service
        self._settings[name] = (service, settings)
        self.programs[name] = program = self.deployment.service(service, settings, instance=f"-{name}")
        program.start(is_ready)

    @property
    def killed(self) -> int:
        """How many processes were killed."""
        return sum(self.kills.values())

    @property
    def _sentinels(self) -> RedisSentinelServers:
        if self.deployment.sentinels is None:
            message = "Redis has no sentinels here"
            raise ValueError(message)
        return self.deployment.sentinels

    def kill(self, victim: str, twins_of: Sequence[str] = ()) -> None:
        """Kill a service by its name, `KAFKA` or `REDIS`, and start it again after a while.

        `REDIS_FAILOVER` kills the primary of Redis, and `REDIS_FLUSH` deletes its data; both need sentinels.
        A `TWIN` is another process of the identity of a service, one of those named; it is killed after a while.
        """
        self.kills[victim] = self.kills.get(victim, 0) + 1
        match victim:
            case "kafka":
                self.deployment.kafka.kill()
                time.sleep(self.rng.random())
                self.deployment.kafka.start()
            case "redis":
                self.deployment.redis.kill()
                time.sleep(self.rng.random() * 2)
                self.deployment.redis.start()
            case "redis fails over":
                self._sentinels.fail_over_and_back_up()
            case "redis forgets":
                self._sentinels.flush()
            case "twin":
                self._twin(self.rng.choice(twins_of or list(self.programs)))
            case _:
                self.programs[victim].kill()
                time.sleep(self.rng.random() * 2)
                self.programs[victim].start()

    def replace(
        self,
        name: str,
        surroundings: Mapping[str, str],
        is_ready: Callable[[], bool],
        meanwhile: Callable[[], None],
    ) -> None:
        """Stop a service and start another in its place, under more variables: a pod of a StatefulSet that rolls.

        `meanwhile` is called once while no process is there, and repeatedly until the new one is ready.

        Raises:
            ServerError: the new one ends.
        """
        service, settings = self._settings[name]
        self.replaced += 1
        self.programs[name].stop()
        meanwhile()
        made = self.deployment.service(service, settings, instance=f"-{name}-{self.replaced}", surroundings=surroundings)
        self.programs[name] = made

        def has_begun() -> bool:
            meanwhile()
            return is_ready()

        made.start(has_begun)

    def start_ended(self) -> list[str]:
        """Start again those that have ended by themselves; return their names."""
        ended = [name for name, program in self.programs.items() if not program.is_running()]
        for name in ended:
            self.programs[name].start()
        return ended

    def _twin(self, name: str) -> None:
        """Let another process of an identity shut the first out for a while."""
        service, settings = self._settings[name]
        ports = {key: str(free_ports(1)[0]) for key in settings if key.endswith("PORT")}
        twin = self.deployment.service(service, {**settings, **ports}, instance=f"-twin-{self.killed}")
        twin.start()
        time.sleep(3 + self.rng.random() * 4)
        twin.kill()
