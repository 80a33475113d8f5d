"""Settings of the log of a process."""

from __future__ import annotations

from pydantic import BaseModel, SecretStr

from graphtide_log.kafka.connection import KafkaConnection, SaslLogin, TlsFiles
from graphtide_log.profile import Profile


class KafkaSettings(BaseModel):
    """Settings of the connection to Kafka.

    Attributes:
        bootstrap: bootstrap servers, `host:port`, separated by commas.
        tls: connect with TLS.
        authorities: PEM file of trusted certificate authorities; unset uses the system's.
        certificate: PEM file of the client's certificate.
        key: PEM file of the client's key.
        key_password: password of the key file; empty if it has none.
        mechanism: SASL mechanism: `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`.
        username: SASL user name; SASL is off if unset.
        password: SASL password.
        replication: replication factor of new topics; -1 is the cluster's default.
    """

    bootstrap: str = "localhost:9092"
    tls: bool = False
    authorities: str | None = None
    certificate: str | None = None
    key: str | None = None
    key_password: SecretStr = SecretStr("")
    mechanism: str = "SCRAM-SHA-512"
    username: str | None = None
    password: SecretStr = SecretStr("")
    replication: int = -1

    def connection(self, client_id: str, profile: Profile = Profile.THROUGHPUT) -> KafkaConnection:
        """Return the connection for a program of this name."""
        tls = self._tls() if self.tls else None
        login = SaslLogin(self.mechanism, self.username, self.password.get_secret_value()) if self.username else None
        return KafkaConnection(self.bootstrap, client_id, tls=tls, login=login, replication=self.replication, profile=profile)

    def _tls(self) -> TlsFiles:
        return TlsFiles(self.authorities, self.certificate, self.key, self.key_password.get_secret_value() or None)
