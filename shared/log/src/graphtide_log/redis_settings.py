"""Settings of a login to Redis, for the services that connect to it."""

from __future__ import annotations

from pydantic import SecretStr
from pydantic_settings import BaseSettings

from graphtide_log.redis_clients import RedisLogin


class RedisLoginSettings(BaseSettings):
    """Credentials for Redis.

    Attributes:
        redis_username: ACL user name; unset is the default user.
        redis_password: password of the user; empty does not log in.
        redis_authorities: PEM file of trusted certificate authorities, for `rediss://`; unset uses the system's.
        redis_certificate: PEM file of the client's certificate.
        redis_key: PEM file of the client's key.
        redis_sentinel_username: ACL user name for sentinels, for `redis+sentinel://`; unset is the default user.
        redis_sentinel_password: password of the sentinel user; empty does not log in.
    """

    redis_username: str | None = None
    redis_password: SecretStr = SecretStr("")
    redis_authorities: str | None = None
    redis_certificate: str | None = None
    redis_key: str | None = None
    redis_sentinel_username: str | None = None
    redis_sentinel_password: SecretStr = SecretStr("")

    def redis_login(self) -> RedisLogin:
        """Return the login."""
        return RedisLogin(
            self.redis_username,
            self.redis_password.get_secret_value() or None,
            self.redis_authorities,
            self.redis_certificate,
            self.redis_key,
            self.redis_sentinel_username,
            self.redis_sentinel_password.get_secret_value() or None,
        )
