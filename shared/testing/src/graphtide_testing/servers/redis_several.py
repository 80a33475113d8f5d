"""Several Redis that work together: a cluster of three nodes, and a primary with a replica under three sentinels.

All are processes of this machine on the loopback interface, as `RedisServer`; each is ended by its own id.
"""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING, Final

from redis import Redis
from redis.exceptions import RedisError

from graphtide_testing.servers.process import Process, ServerError, free_ports
from graphtide_testing.servers.redis import RedisServer
from graphtide_testing.servers.tools import program
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

PRIMARY: Final = "checkpoints"
_NODES: Final = 3
_SENTINELS: Final = 3
_PATIENCE: Final = 60.0


class RedisClusterServers:
    """A Redis Cluster of three nodes, each with a third of the slots."""

    def __init__(self, folder: Path) -> None:
        """Keep the nodes in this folder."""
        buses = free_ports(_NODES)
        self.nodes = [
            RedisServer(
                folder / f"node-{number}",
                settings={"cluster-enabled": "yes", "cluster-port": str(bus), "cluster-node-timeout": "2000"},
            )
            for number, bus in enumerate(buses)
        ]

    @property
    def url(self) -> str:
        """The address for clients of a cluster; known once it was started."""
        return f"redis+cluster://{','.join(f'127.0.0.1:{node.port}' for node in self.nodes)}"

    def start(self) -> None:
        """Start the nodes and let them become a cluster; return when it answers for every slot.

        Raises:
            ServerError: they do not become one.
        """
        for node in self.nodes:
            node.start()
        addresses = [f"127.0.0.1:{node.port}" for node in self.nodes]
        command = [program("redis-cli"), "--cluster", "create", *addresses, "--cluster-yes"]
        made = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)  # noqa: S603 - ours
        if made.returncode:
            raise ServerError(made.stdout[-2000:] + made.stderr)
        wait_until(lambda: all(map(_covers_all, self.nodes)), _PATIENCE)

    def kill(self) -> None:
        """End all nodes as a crash does."""
        for node in self.nodes:
            node.kill()


class RedisSentinelServers:
    """A primary, a replica of it, and three sentinels, two of whom decide that the primary is gone."""

    def __init__(self, folder: Path) -> None:
        """Keep them in this folder."""
        self._folder = folder
        self.primary = RedisServer(folder / "primary")
        self.replica: RedisServer | None = None
        self._sentinels: list[Process] = []
        self.ports: list[int] = []

    @property
    def url(self) -> str:
        """The address for clients that ask the sentinels; known once they were started."""
        return f"redis+sentinel://{','.join(f'127.0.0.1:{port}' for port in self.ports)}/{PRIMARY}/0"

    def start(self) -> None:
        """Start all; return when every sentinel knows the replica and the other sentinels."""
        self.primary.start()
        self.replica = RedisServer(self._folder / "replica", settings={"replicaof": f"127.0.0.1 {self.primary.port}"})
        self.replica.start()
        self.ports = free_ports(_SENTINELS)
        for number, port in enumerate(self.ports):
            folder = self._folder / f"sentinel-{number}"
            folder.mkdir(parents=True)
            file = folder / "sentinel.conf"
            lines = [
                f"port {port}",
                "bind 127.0.0.1",
                f"dir {folder}",
                "set-proc-title no",
                f"sentinel monitor {PRIMARY} 127.0.0.1 {self.primary.port} 2",
                f"sentinel down-after-milliseconds {PRIMARY} 1000",
                f"sentinel failover-timeout {PRIMARY} 5000",
            ]
            file.write_text("".join(f"{line}\n" for line in lines))
            process = Process("sentinel", folder)
            process.start([program("redis-server"), str(file), "--sentinel"], lambda port=port: _answers(port))  # type: ignore[misc]
            self._sentinels.append(process)
        wait_until(lambda: all(map(self._knows_all, self.ports)), _PATIENCE)

    def primary_port(self) -> int:
        """Return the port of the primary as the sentinels name it."""
        with Redis(port=self.ports[0], socket_timeout=1) as client:
            return int(client.sentinel_get_master_addr_by_name(PRIMARY)[1])

    def fail_over(self) -> RedisServer:
        """Let the primary crash; return it when the sentinels name the other server."""
        before = self.primary_port()
        crashed = next(each for each in self._servers() if each.port == before)
        crashed.kill()
        begun = time.monotonic()
        wait_until(lambda: self.primary_port() != before, _PATIENCE, lambda: f"{time.monotonic() - begun:.0f} seconds")
        return crashed

    def fail_over_and_back_up(self) -> None:
        """Let the primary crash and come back as a replica; return when the sentinels see it as one, with the data."""
        self.fail_over().start()
        wait_until(lambda: all(map(_is_backed_up, self.ports)), _PATIENCE)

    def flush(self) -> None:
        """Lose the data, while the servers run and answer."""
        next(each for each in self._servers() if each.port == self.primary_port()).flush()

    def _servers(self) -> list[RedisServer]:
        return [self.primary, *([] if self.replica is None else [self.replica])]

    def kill(self) -> None:
        """End all as a crash does."""
        for process in self._sentinels:
            process.kill()
        for server in self._servers():
            server.kill()

    def _knows_all(self, port: int) -> bool:
        with Redis(port=port, socket_timeout=1) as client:
            said = dict(client.sentinel_master(PRIMARY))
        known = {key: int(said[key]) for key in ("num-slaves", "num-other-sentinels")}
        return known == {"num-slaves": 1, "num-other-sentinels": _SENTINELS - 1}


def _covers_all(node: RedisServer) -> bool:
    with Redis(port=node.port, socket_timeout=1) as client:
        said = client.execute_command("CLUSTER", "INFO")
    lines = bytes(said).decode().split()
    return "cluster_state:ok" in lines and f"cluster_known_nodes:{_NODES}" in lines


def _is_backed_up(port: int) -> bool:
    """Whether a sentinel sees one replica, which follows the primary."""
    with Redis(port=port, socket_timeout=1) as client:
        replicas = client.sentinel_slaves(PRIMARY)
    return [(each["flags"], each.get("master-link-status")) for each in replicas] == [("slave", "ok")]


def _answers(port: int) -> bool:
    try:
        with Redis(port=port, socket_timeout=1) as client:
            return bool(client.ping())
    except RedisError:
        return False
