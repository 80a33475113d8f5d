"""A Redis that asks for a certificate and a login is used like any other. Its user has no more rights than are needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import FatalError, TransientError
from graphtide_log.checkpoints.redis import RedisLogin
from graphtide_matcher_host.settings import MatcherSettings
from graphtide_testing.contracts.checkpoints import CheckpointContract
from graphtide_testing.servers import RedisServer
from graphtide_testing.servers.security import PASSWORD, REDIS_RULES, USER, Security
from pydantic import SecretStr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.ports.checkpoints import CheckpointStore

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MatcherSettings]:
    folder = tmp_path_factory.mktemp("secure")
    security = Security(folder / "certificates")
    server = RedisServer(folder / "redis", security)
    server.start()
    yield MatcherSettings(
        redis=SecretStr(server.url),
        redis_username=USER,
        redis_password=SecretStr(PASSWORD),
        redis_authorities=str(security.authorities),
        redis_certificate=str(security.certificate),
        redis_key=str(security.key),
    )
    server.kill()


def test_the_rules_of_the_user_are_those_of_the_page_for_operators() -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/secure.md").read_text("utf-8")
    assert f"`user {USER} on >PASSWORD {REDIS_RULES}`" in page


class TestSecureRedisCheckpoints(CheckpointContract):
    @pytest.fixture
    def store(self, secure: MatcherSettings) -> Iterator[CheckpointStore]:
        store = secure.checkpoints()
        yield store
        store.close()

    def test_keys_of_others_are_not_accessible(self, secure: MatcherSettings, key: str) -> None:
        store = secure.model_copy(update={"prefix": "another-user"}).checkpoints()
        with pytest.raises(FatalError, match="Redis refuses what this user asks for"):
            store.manifest(key)
        with pytest.raises(FatalError, match="Redis refuses what this user asks for"):
            store.save(key, b"", {}, [])


def test_the_url_alone_can_say_who_logs_in(secure: MatcherSettings) -> None:
    url = secure.redis.get_secret_value().replace("rediss://", f"rediss://{USER}:{PASSWORD}@")
    alone = secure.model_copy(update={"redis": SecretStr(url), "redis_username": None, "redis_password": SecretStr("")})
    assert alone.checkpoints().manifest("none") is None


def test_a_wrong_password_is_reported_and_not_shown(secure: MatcherSettings) -> None:
    wrong = secure.model_copy(update={"redis_password": SecretStr("hidden-but-wrong")})
    with pytest.raises(FatalError, match="Redis refuses the credentials") as raised:
        wrong.checkpoints().manifest("none")
    assert "hidden" not in f"{raised.value}{wrong!r}{RedisLogin(password=PASSWORD)}"


def test_a_client_without_a_certificate_is_shut_out(secure: MatcherSettings) -> None:
    with pytest.raises(TransientError, match=r"(?i)certificate|reset|closed|pipe|eof"):
        secure.model_copy(update={"redis_certificate": None, "redis_key": None}).checkpoints().manifest("none")


def test_a_server_that_nobody_vouches_for_is_not_spoken_to(secure: MatcherSettings) -> None:
    with pytest.raises(TransientError, match="certificate verify failed"):
        secure.model_copy(update={"redis_authorities": None}).checkpoints().manifest("none")


def test_a_server_of_another_name_is_not_spoken_to(secure: MatcherSettings) -> None:
    url = secure.redis.get_secret_value().replace("127.0.0.1", "localhost")
    with pytest.raises(TransientError, match="Hostname mismatch"):
        secure.model_copy(update={"redis": SecretStr(url)}).checkpoints().manifest("none")
