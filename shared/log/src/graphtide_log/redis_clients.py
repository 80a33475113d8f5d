"""Clients of Redis by the scheme of a URL: one server, a cluster, or a primary that sentinels name.

  redis://[user:password@]host[:port][/database]        one server; also `rediss://` with TLS, and `unix://path`
  redis+cluster://[user:password@]host[:port],…         a Redis Cluster, by some of its nodes
  redis+sentinel://[user:password@]host[:port],…/name[/database]   the primary `name` of these sentinels

`rediss+cluster://` and `rediss+sentinel://` speak TLS. Options of redis-py for connections may follow as `?name=value`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import redis
from graphtide_core.errors import FatalError
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelConnectionPool

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMES: Final = "redis://, rediss://, unix://, redis+cluster://, rediss+cluster://, redis+sentinel:// and rediss+sentinel://"

_PORTS: Final = {"cluster": 6379, "sentinel": 26379}
_HOST: Final = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:\[\]/@]+)(:(?P<port>[0-9]{1,5}))?")
_RETRIES: Final = 3

AnyRedis = redis.Redis | RedisCluster


@dataclass(frozen=True, slots=True)
class RedisLogin:
    """Credentials of a client, and the authorities that it trusts; the URL comes first where it has them, too.

    Attributes:
        username: of the ACL user; None is Redis' default user.
        password: of that user, which is never printed; without one there is no login.
        authorities: file in PEM of the authorities to trust; None is the system's own. This and the next two are for TLS.
        certificate: file in PEM of the client's certificate.
        key: file in PEM of its key.
        sentinel_username: of the ACL user of sentinels; None is their default user.
        sentinel_password: of that user, which is never printed; without one there is no login there.
    """

    username: str | None = None
    password: str | None = field(default=None, repr=False)
    authorities: str | None = None
    certificate: str | None = None
    key: str | None = None
    sentinel_username: str | None = None
    sentinel_password: str | None = field(default=None, repr=False)

    def options(self, url: str) -> dict[str, str]:
        """Return the given ones under redis-py's names, as far as a connection to this URL knows them."""
        return _drop_unset({"username": self.username, "password": self.password, **self._files(url)})

    def sentinel_options(self, url: str) -> dict[str, str]:
        """Return the same for connections to sentinels."""
        return _drop_unset({"username": self.sentinel_username, "password": self.sentinel_password, **self._files(url)})

    def _files(self, url: str) -> dict[str, str | None]:
        if not url.startswith("rediss"):
            return {}
        return {"ssl_ca_certs": self.authorities, "ssl_certfile": self.certificate, "ssl_keyfile": self.key}


def client_maker(url: str, timeout: float, login: RedisLogin) -> Callable[[], AnyRedis]:
    """Return a factory of clients for a URL; `timeout` in seconds a call. It asks a cluster for its nodes at each client.

    Raises:
        FatalError: it is not a URL of Redis; passwords are not shown.
    """
    options: dict[str, Any] = {"socket_timeout": timeout, "socket_connect_timeout": timeout}
    try:
        scheme, _, kind = urlsplit(url).scheme.partition("+")
        if kind in _PORTS and scheme in {"redis", "rediss"}:
            return _of_several(url, scheme, kind, options, login)
        client = redis.Redis.from_url(url, **options, **login.options(url))
    except ValueError as error:
        message = f"{_show(url)} is not a URL of Redis: {error}; write one that begins with {SCHEMES}"
        raise FatalError(message) from error
    return lambda: client


def close_client(client: AnyRedis) -> None:
    """Close the connections of a client, and those to sentinels: their clients are not closed with that of the primary."""
    client.close()
    pool = getattr(client, "connection_pool", None)
    if isinstance(pool, SentinelConnectionPool):
        pool.sentinel_manager.close()


def _of_several(url: str, scheme: str, kind: str, options: dict[str, Any], login: RedisLogin) -> Callable[[], AnyRedis]:
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    nodes = _nodes(hosts, _PORTS[kind])
    path = [part for part in parts.path.split("/") if part]
    retry = Retry(ExponentialWithJitterBackoff(base=0.1, cap=1.0), _RETRIES)
    named = login.options(url) | _parse(f"{scheme}://{user}{at}host?{parts.query}")
    secured = {"ssl": True} if scheme == "rediss" else {}
    if kind == "cluster":
        if path not in ([], ["0"]):
            message = "a cluster has database 0 alone"
            raise ValueError(message)
        known = [ClusterNode(host, port) for host, port in nodes]  # type: ignore[no-untyped-call]  # redis-py has no types for it
        whole = {**options, **secured, **named}
        return lambda: RedisCluster(startup_nodes=list(known), retry=retry, **whole)
    if len(path) not in {1, 2} or (len(path) == 2 and not path[1].isdigit()):
        message = "the name of the primary and perhaps the number of a database follow the sentinels, such as /mymaster/0"
        raise ValueError(message)
    sentinels = Sentinel(  # type: ignore[no-untyped-call]  # redis-py has no types for it
        nodes,
        # One that does not answer is not asked again: others are.
        sentinel_kwargs={**options, **secured, "retry": Retry(NoBackoff(), 0), **login.sentinel_options(url)},
        **{**options, **secured, **named},
    )
    database = int(path[1]) if len(path) == 2 else 0
    client: redis.Redis = sentinels.master_for(path[0], db=database, retry=retry)  # type: ignore[no-untyped-call]  # redis-py has no types for it
    return lambda: client


def _nodes(hosts: str, port: int) -> list[tuple[str, int]]:
    found = []
    for each in hosts.split(","):
        match = _HOST.fullmatch(each)
        if match is None or not 0 < int(match["port"] or port) < 2**16:
            message = f"{each!r} is not a host and port, such as redis-0:{port}"
            raise ValueError(message)
        found.append((match["host"].strip("[]"), int(match["port"] or port)))
    return found


def _parse(url: str) -> dict[str, Any]:
    """Return the options in the URL of one server, beside its address."""
    reported = dict(parse_url(url))  # type: ignore[no-untyped-call]  # redis-py has no types for it
    return {name: value for name, value in reported.items() if name not in {"host", "port", "db", "connection_class"}}


def _drop_unset(options: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in options.items() if value is not None}


def _show(url: str) -> str:
    """Return a URL without its credentials."""
    return re.sub(r"//[^/]*@", "//…@", url).partition("?")[0]
