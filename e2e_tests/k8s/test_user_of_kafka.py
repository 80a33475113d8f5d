"""The user that Strimzi makes may do in Kafka what services do, and nothing outside the prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import GraphtideError
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, Position, TopicPartition, TopicSpec
from graphtide_log.kafka import KafkaLog
from graphtide_log.kafka.settings import KafkaSettings
from graphtide_testing.charts import ROOT
from graphtide_testing.contracts.log import read, values
from graphtide_testing.servers import KafkaServer
from graphtide_testing.servers.access_rules import access_rules
from graphtide_testing.servers.security import PASSWORD, USER, Security
from graphtide_wire.topics import Topics
from pydantic import SecretStr

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.integration

TOPICS = Topics()
FLOWS, PAYMENTS = StreamName("flows"), StreamName("payments")
ORDERED = TOPICS.ordered(FLOWS)
RAW = TopicPartition(TOPICS.raw(FLOWS), 0)
GROUP = "graphtide.sequencer.flows"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaLog]:
    folder = tmp_path_factory.mktemp("allowed")
    security = Security(folder / "certificates", may=access_rules(ROOT / "k8s/kafka/user.yaml", USER))
    server = KafkaServer(folder / "kafka", security)
    server.start()
    settings = KafkaSettings(
        bootstrap=server.secure_bootstrap,
        tls=True,
        authorities=str(security.authorities),
        certificate=str(security.certificate),
        key=str(security.key),
        username=USER,
        password=SecretStr(PASSWORD),
    )
    log = KafkaLog(settings.connection("test"))
    log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(FLOWS)])
    yield log
    server.kill()


def test_a_stream_is_written_in_transactions_with_positions_and_read(log: KafkaLog) -> None:
    transactor = log.transactor(GROUP)
    transactor.open()
    transactor.begin()
    transactor.write([Message(ORDERED, None, b"edges")])
    transactor.commit(GROUP, {RAW: Position(3)})
    asking = log.reader(GROUP)
    assert asking.recorded([RAW]) == asking.committed([RAW]) == {RAW: Position(3)}
    asking.close()
    for group in (GROUP, None):
        reader = log.reader(group)
        reader.assign({TopicPartition(ORDERED, 0): 0})
        assert values(read(reader, 1)) == [b"edges"]
        if group is not None:
            assert reader.committed([RAW]) == {RAW: Position(3)}
        reader.close()
    transactor.close()


def test_a_stream_goes_with_its_topics(log: KafkaLog) -> None:
    made = [spec.name for spec in TOPICS.of_stream(PAYMENTS)]
    log.admin().ensure(TOPICS.of_stream(PAYMENTS))
    assert set(made) <= set(log.admin().topics())
    log.admin().delete(made)


def test_nothing_outside_the_prefix_is_allowed(log: KafkaLog) -> None:
    with pytest.raises(GraphtideError, match=r"(?i)authoriz"):
        log.admin().ensure([TopicSpec("other.in.flows.v1")])
    transactor = log.transactor("other.sequencer.flows")
    with pytest.raises(GraphtideError, match=r"(?i)authoriz"):
        transactor.open()
    transactor.close()
