"""Connect to a Kafka cluster with bounded memory. Nothing here is read from the environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from graphtide_log.profile import Profile

Config = dict[str, str | int | float | bool]
"""Settings of librdkafka by their names."""

_MEBIBYTE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SaslLogin:
    """A name and a password, which is never printed."""

    mechanism: str
    """`PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`."""

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Files in PEM; None where the system's own authorities, or no certificate of the client, are meant."""

    authorities: str | None = None
    certificate: str | None = None
    key: str | None = None
    key_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class KafkaConnection:
    """A cluster and the bounds of what clients hold.

    Attributes:
        bootstrap: `host:port`, several separated by commas.
        client_id: name of this program in the broker's logs and quotas.
        tls: speak TLS; None speaks plain text.
        login: authenticate by SASL; None does not.
        replication: replicas of topics that are made; -1 takes the cluster's default.
        most_message_bytes: no writer takes a larger message; topics made without a bound of their own get this one.
        read_ahead_bytes: how much a reader fetches ahead for all its partitions.
        write_buffer_bytes: how much a writer holds until the cluster has it; `write` waits when that is full.
        request_seconds: how long one request may take before it counts as failed, to be tried again; a call may make a few.
        transaction_seconds: the cluster aborts a transaction that stays open longer.
        profile: whether writers wait for more to send together, and how soon readers ask again.
    """

    bootstrap: str
    client_id: str = "graphtide"
    tls: TlsFiles | None = None
    login: SaslLogin | None = None
    replication: int = -1
    most_message_bytes: int = 8 * _MEBIBYTE
    read_ahead_bytes: int = 32 * _MEBIBYTE
    write_buffer_bytes: int = 32 * _MEBIBYTE
    request_seconds: float = 30.0
    transaction_seconds: float = 60.0
    profile: Profile = Profile.THROUGHPUT

    @property
    def _request_milliseconds(self) -> int:
        return int(self.request_seconds * 1000)

    def common(self) -> Config:
        """Return the settings of every client."""
        config: Config = {
            "bootstrap.servers": self.bootstrap,
            "client.id": self.client_id,
            "security.protocol": ("sasl_" if self.login else "") + ("ssl" if self.tls else "plaintext"),
            "socket.timeout.ms": self._request_milliseconds,
            "allow.auto.create.topics": False,
            "reconnect.backoff.ms": 200,
            "reconnect.backoff.max.ms": 2000,
            "log.connection.close": False,
        }
        if self.login is not None:
            config |= {
                "sasl.mechanism": self.login.mechanism,
                "sasl.username": self.login.username,
                "sasl.password": self.login.password,
            }
        if self.tls is not None:
            files = {
                "ssl.ca.location": self.tls.authorities,
                "ssl.certificate.location": self.tls.certificate,
                "ssl.key.location": self.tls.key,
                "ssl.key.password": self.tls.key_password,
            }
            config |= {name: value for name, value in files.items() if value is not None}
        return config

    def reading(self, group: str) -> Config:
        """Return the settings of a reader: committed records alone, no jump to another offset, no commits of its own."""
        return self.common() | {
            "group.id": group,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "queued.min.messages": 100_000,
            "queued.max.messages.kbytes": max(1, self.read_ahead_bytes // 1024),
            "fetch.message.max.bytes": _MEBIBYTE,
            "fetch.max.bytes": max(self.most_message_bytes, 16 * _MEBIBYTE),
            "receive.message.max.bytes": max(self.most_message_bytes, 16 * _MEBIBYTE) + _MEBIBYTE,
            "fetch.wait.max.ms": 100,
            "fetch.queue.backoff.ms": 1 if self.profile is Profile.LOW_LATENCY else 10,
            "fetch.error.backoff.ms": 100,
            "topic.metadata.propagation.max.ms": 1000,
        }

    def writing(self) -> Config:
        """Return the settings of a writer: all replicas, each message once and in order, kept until the cluster has it.

        Keys choose partitions as the Java client does, so that producers of both kinds agree.
        """
        return self.common() | {
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 0 if self.profile is Profile.LOW_LATENCY else 2,
            "batch.size": _MEBIBYTE,
            "compression.type": "lz4",
            "partitioner": "murmur2_random",
            "message.timeout.ms": 0,
            "message.max.bytes": self.most_message_bytes,
            "queue.buffering.max.kbytes": max(1, self.write_buffer_bytes // 1024),
            "delivery.report.only.error": True,
        }

    def transacting(self, id: str) -> Config:
        """Return the settings of a transactor.

        A transaction that begins while the end of the last is still being written must be tried again. So the time until then
        counts in every transaction of a busy transactor: librdkafka's own 100 ms would be most of it.
        """
        milliseconds = int(self.transaction_seconds * 1000)
        return self.writing() | {
            "transactional.id": id,
            "transaction.timeout.ms": milliseconds,
            "message.timeout.ms": min(milliseconds, self._request_milliseconds),
            "linger.ms": 0,
            "retry.backoff.ms": 1,
        }
