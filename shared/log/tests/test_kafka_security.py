"""A cluster that asks for certificates and logins is spoken to as any other; without them, it says what it misses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import FatalError, GraphtideError, TransientError
from graphtide_core.ports.log import Position, TopicPartition
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_log.kafka.settings import KafkaSettings
from graphtide_testing.contracts.log import messages, new_topic, read, values
from graphtide_testing.servers import KafkaServer
from graphtide_testing.servers.security import PASSWORD, USER, Security
from pydantic import SecretStr

if TYPE_CHECKING:
    from collections.abc import Iterator

SOON = 5.0

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaSettings]:
    folder = tmp_path_factory.mktemp("secure")
    security = Security(folder / "certificates")
    server = KafkaServer(folder / "kafka", security)
    server.start()
    yield KafkaSettings(
        bootstrap=server.secure_bootstrap,
        tls=True,
        authorities=str(security.authorities),
        certificate=str(security.certificate),
        key=str(security.key),
        username=USER,
        password=SecretStr(PASSWORD),
    )
    server.kill()


def failure(connection: KafkaConnection) -> GraphtideError:
    """Return what a writer says in the end."""
    writer = KafkaLog(connection).writer()
    writer.write(messages("any", b"x"))
    with pytest.raises(GraphtideError) as raised:
        writer.flush(SOON)
    writer.close()
    return raised.value


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_records_and_positions_go_through_a_secure_listener(secure: KafkaSettings, mechanism: str) -> None:
    log = KafkaLog(secure.model_copy(update={"mechanism": mechanism}).connection("test"))
    log.ping()
    topic = new_topic(log)
    place = TopicPartition(topic, 0)
    transactor, reader = log.transactor(topic), log.reader(topic)
    transactor.open()
    transactor.begin()
    transactor.write(messages(topic, b"one", b"two"))
    transactor.commit(topic, {place: Position(7)})
    reader.assign({place: 0})
    assert values(read(reader, 2)) == [b"one", b"two"]
    assert reader.committed([place]) == {place: Position(7)}
    for each in (transactor, reader):
        each.close()


def test_a_wrong_password_is_reported_and_not_shown(secure: KafkaSettings) -> None:
    error = failure(secure.model_copy(update={"password": SecretStr("hidden-but-wrong")}).connection("test"))
    assert isinstance(error, FatalError)
    assert "uthentication" in str(error)
    assert "hidden" not in str(error)


def test_a_client_without_a_certificate_is_shut_out(secure: KafkaSettings, caplog: pytest.LogCaptureFixture) -> None:
    connection = secure.model_copy(update={"certificate": None, "key": None}).connection("test")
    # TLS 1.3 rejects a client only after the handshake: to librdkafka the broker is gone, and the log alone says why.
    error = failure(replace(connection, request_seconds=3.0))
    assert isinstance(error, TransientError)
    assert "certificate" in caplog.text


def test_a_server_that_nobody_vouches_for_is_not_spoken_to(secure: KafkaSettings) -> None:
    error = failure(secure.model_copy(update={"authorities": None}).connection("test"))
    assert isinstance(error, FatalError)
    assert "certificate verify failed" in str(error)


def test_who_speaks_plain_text_to_a_secure_listener_gets_no_answer(secure: KafkaSettings) -> None:
    plain = replace(KafkaSettings(bootstrap=secure.bootstrap).connection("test"), request_seconds=2.0)
    with pytest.raises(GraphtideError):
        KafkaLog(plain).ping()
