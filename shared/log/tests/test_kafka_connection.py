"""A connection passes its settings on to librdkafka, and shows passwords to no other."""

from __future__ import annotations

from graphtide_log.kafka import KafkaConnection, SaslLogin, TlsFiles

SECURE = KafkaConnection(
    "kafka:9093",
    tls=TlsFiles("/etc/ca.pem", "/etc/c.pem", "/etc/c.key", "hidden-key"),
    login=SaslLogin("SCRAM-SHA-512", "graphtide", "hidden-word"),
)


def test_passwords_are_not_shown() -> None:
    assert "graphtide" in repr(SECURE)
    assert "hidden" not in repr(SECURE)


def test_a_secure_connection_encrypts_and_authenticates() -> None:
    config = SECURE.common()
    assert config["security.protocol"] == "sasl_ssl"
    assert (config["sasl.mechanism"], config["sasl.username"]) == ("SCRAM-SHA-512", "graphtide")
    assert config["sasl.password"] == "hidden-word"
    assert config["ssl.ca.location"] == "/etc/ca.pem"
    assert config["ssl.key.password"] == "hidden-key"


def test_what_is_not_given_is_left_to_the_system() -> None:
    config = KafkaConnection("kafka:9093", tls=TlsFiles()).common()
    assert config["security.protocol"] == "ssl"
    assert not [name for name in config if name.startswith(("sasl.", "ssl."))]
    assert KafkaConnection("kafka:9092").common()["security.protocol"] == "plaintext"


def test_a_login_without_encryption_is_possible() -> None:
    login = SaslLogin("PLAIN", "a", "b")
    assert KafkaConnection("kafka:9092", login=login).common()["security.protocol"] == "sasl_plaintext"


def test_buffers_are_bounded() -> None:
    connection = KafkaConnection("kafka:9092", read_ahead_bytes=1 << 20, write_buffer_bytes=2 << 20, most_message_bytes=3 << 20)
    assert connection.reading("g")["queued.max.messages.kbytes"] == 1024
    assert connection.writing()["queue.buffering.max.kbytes"] == 2048
    assert connection.writing()["message.max.bytes"] == 3 << 20


def test_a_transaction_is_given_up_when_the_cluster_would() -> None:
    config = KafkaConnection("kafka:9092", transaction_seconds=10).transacting("id")
    assert config["transactional.id"] == "id"
    assert (config["transaction.timeout.ms"], config["message.timeout.ms"]) == (10_000, 10_000)


def test_a_message_is_given_up_when_a_request_would() -> None:
    config = KafkaConnection("kafka:9092", request_seconds=3).transacting("id")
    assert (config["socket.timeout.ms"], config["message.timeout.ms"]) == (3000, 3000)
