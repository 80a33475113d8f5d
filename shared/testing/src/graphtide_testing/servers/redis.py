"""Redis as one process that writes every change to its append-only file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redis import Redis
from redis.exceptions import RedisError

from graphtide_testing.servers.process import Process, free_ports
from graphtide_testing.servers.security import PASSWORD, USER
from graphtide_testing.servers.tools import program

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from graphtide_testing.servers.process import Usage
    from graphtide_testing.servers.security import Security


class RedisServer:
    """A Redis that keeps its data and its port in `folder`, over crashes and restarts."""

    def __init__(
        self,
        folder: Path,
        security: Security | None = None,
        address: str = "127.0.0.1",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Look after the server of this folder; it need not have one yet. With `security`, it speaks TLS alone.

        `settings` are further ones of its file.
        """
        self._more = dict(settings or {})
        self._folder = folder.resolve()
        self._security, self._address = security, address
        self._process = Process("redis", self._folder)

    @property
    def url(self) -> str:
        """The address for clients; known once the server was started for the first time."""
        return f"{'rediss' if self._security else 'redis'}://{self._address}:{self.port}/0"

    @property
    def port(self) -> int:
        """The port of that address."""
        return int(self._port_file.read_text())

    def forget(self) -> None:
        """Lose the data, while the server does not run."""
        for kept in (self._folder / "appendonlydir").glob("*"):
            kept.unlink()

    def flush(self) -> None:
        """Lose the data, while the server runs and answers."""
        with Redis.from_url(self.url, socket_timeout=10) as client:
            client.flushall()

    def start(self) -> None:
        """Start it, with the data it had; return when it answers clients.

        Raises:
            ServerError: it does not start, or what it needs is missing.
        """
        server = program("redis-server")
        if not self._port_file.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            self._port_file.write_text(str(free_ports(1)[0]))
            settings = {
                "bind": self._address,
                **({"port": "0", "tls-port": str(self.port)} if self._security else {"port": str(self.port)}),
                "dir": str(self._folder),
                "appendonly": "yes",
                "appendfsync": "always",
                "save": '""',
                "loglevel": "warning",
                "set-proc-title": "no",
                **(self._security.of_redis() if self._security else {}),
                **self._more,
            }
            self._settings.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
        self._process.start([server, str(self._settings)], self.answers)

    def answers(self) -> bool:
        """Return whether it answers."""
        secret = self._security
        files = (
            {"ssl_ca_certs": secret.authorities, "ssl_certfile": secret.certificate, "ssl_keyfile": secret.key}
            if secret
            else {}
        )
        login = {"username": USER, "password": PASSWORD} if secret else {}
        # Whether it is spoken to by its name is for clients to see.
        configured = {
            **{name: str(file) for name, file in files.items()},
            **login,
            **({"ssl_check_hostname": False} if secret else {}),
        }
        try:
            with Redis.from_url(self.url, socket_timeout=1, **configured) as client:
                return bool(client.ping())
        except RedisError:
            return False

    def is_running(self) -> bool:
        """Return whether its process is there."""
        return self._process.is_running()

    def usage(self) -> Usage:
        """Return what it takes."""
        return self._process.usage()

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()

    def stop(self) -> None:
        """End it in good order."""
        self._process.stop()

    @property
    def _port_file(self) -> Path:
        return self._folder / "redis.port"

    @property
    def _settings(self) -> Path:
        return self._folder / "redis.conf"
