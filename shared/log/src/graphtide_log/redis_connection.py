"""A connection to Redis that is made at its first use, and whose errors are those of the domain."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import redis
from graphtide_core.errors import FatalError, TransientError
from redis.exceptions import AskError, MovedError, NoPermissionError, RedisClusterException

from graphtide_log.redis_clients import RedisLogin, client_maker, close_client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_log.redis_clients import AnyRedis

_IS_CLUSTER: Final = "Redis is a cluster, whose nodes keep a part of the keys each: write redis+cluster:// before its address"


class RedisConnection:
    """One server, a cluster, or a primary that sentinels name; see `redis_clients` for URLs."""

    def __init__(self, url: str, *, timeout: float, login: RedisLogin | None = None) -> None:
        """Prepare; nothing is connected yet. `timeout` in seconds a call.

        Raises:
            FatalError: it is not a URL of Redis.
        """
        self._make = client_maker(url, timeout, login or RedisLogin())
        self._made: AnyRedis | None = None
        self._making = threading.Lock()

    @property
    def client(self) -> AnyRedis:
        """The client, which is made at the first call: one of a cluster asks it for its nodes then."""
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made

    def ping(self) -> None:
        """Return if Redis answers.

        Raises:
            TransientError: it does not.
        """
        with translate_errors():
            self.client.ping()

    def close(self) -> None:
        """Close the connections."""
        if self._made is not None:
            close_client(self._made)


@contextmanager
def none_of_another_type() -> Iterator[None]:
    """Pass over a key of another type: it belongs to another user of Redis."""
    try:
        yield
    except redis.ResponseError as error:
        if not str(error).startswith("WRONGTYPE"):
            raise


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise what Redis raises as errors of the domain."""
    try:
        yield
    except redis.AuthenticationError as error:
        message = f"Redis refuses the credentials: {error}"
        raise FatalError(message) from error
    except NoPermissionError as error:
        message = f"Redis refuses what this user asks for: {error}"
        raise FatalError(message) from error
    except MovedError as error:
        message = f"Redis: MOVED {error}. {_IS_CLUSTER}"
        raise TransientError(message) from error
    except AskError as error:
        message = f"Redis: ASK {error}. {_IS_CLUSTER}"
        raise TransientError(message) from error
    except RedisClusterException as error:
        # No node took the client: the last node's error says why.
        if isinstance(error.__cause__, redis.AuthenticationError | NoPermissionError):
            message = f"Redis refuses the credentials: {error}"
            raise FatalError(message) from error
        message = f"Redis: {error}"
        raise TransientError(message) from error
    except redis.RedisError as error:
        message = f"Redis: {error}"
        raise TransientError(message) from error
