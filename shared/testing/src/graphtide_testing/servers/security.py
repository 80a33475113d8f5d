"""Servers that ask clients for certificates and logins, and what clients need for it: a listener of Kafka, and Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import trustme
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from graphtide_testing.servers.access_rules import AccessRule

USER: Final = "graphtide"
PASSWORD: Final = "hidden-word"  # noqa: S105 - of a server of the tests

REDIS_RULES: Final = (
    "~graphtide:checkpoint:* ~graphtide:partial-matches:* resetchannels -@all "
    "+ping +multi +exec +get +set +hset +hmget +hkeys +hgetall +hdel +del +type +persist +expire"
)
"""What a matcher service does in Redis, and its keys: as an ACL says it (docs/how-to/secure.md)."""

REDIS_READER_RULES: Final = "%R~graphtide:partial-matches:* resetchannels -@all +ping +hgetall"
"""What the admin API and the planner do in Redis."""

REDIS_CLUSTER_RULES: Final = "+cluster|slots +cluster|shards +command +asking"
"""What it does besides in a Redis Cluster, to find where keys are."""

_PROPERTIES: Final = """\
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.secure.plain.sasl.jaas.config={modules}.plain.PlainLoginModule required user_{user}="{password}";
listener.name.secure.scram-sha-512.sasl.jaas.config={modules}.scram.ScramLoginModule required;
listener.name.secure.ssl.client.auth=required
listener.name.secure.ssl.keystore.type=PEM
listener.name.secure.ssl.keystore.location={keystore}
listener.name.secure.ssl.truststore.type=PEM
listener.name.secure.ssl.truststore.location={authorities}
"""

_AUTHORIZER: Final = """\
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
"""
"""A client of the other listener, which has no login, may do everything."""

_MODULES: Final = "org.apache.kafka.common.security"


class Security:
    """Certificates in a folder, and the one user who may log in; to Kafka by `PLAIN` or `SCRAM-SHA-512`.

    Attributes:
        may: what the user may do in Kafka; everything if None.
        authorities: file in PEM of the authority that signed the servers' and the client's certificates.
        certificate: file in PEM of the client's certificate.
        key: file in PEM of its key.
    """

    def __init__(self, folder: Path, names: tuple[str, ...] = (), may: Sequence[AccessRule] | None = None) -> None:
        """Make what is needed in the folder; servers are called by `names` beside 127.0.0.1."""
        self.may = may
        folder.mkdir(parents=True, exist_ok=True)
        authority = trustme.CA()
        server, client = authority.issue_cert("127.0.0.1", *names), authority.issue_cert("client@graphtide.test")
        self.authorities = folder / "authorities.pem"
        self.certificate = folder / "client.pem"
        self.key = folder / "client.key"
        self._keystore = folder / "server.pem"
        authority.cert_pem.write_to_path(self.authorities)
        client.cert_chain_pems[0].write_to_path(self.certificate)
        client.private_key_pem.write_to_path(self.key)
        # Kafka reads keys in the format PKCS 8 alone.
        key = load_pem_private_key(server.private_key_pem.bytes(), None)
        chain = b"".join(each.bytes() for each in server.cert_chain_pems)
        self._keystore.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + chain)

    def properties(self) -> str:
        """Return Kafka's settings for its listener `SECURE`."""
        files = {"keystore": self._keystore, "authorities": self.authorities}
        listener = _PROPERTIES.format(modules=_MODULES, user=USER, password=PASSWORD, **files)
        return listener if self.may is None else listener + _AUTHORIZER

    def of_storage(self) -> list[str]:
        """Return what Kafka's storage is formatted with, so that the user is known from the start."""
        return ["--add-scram", f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"]

    def of_redis(self) -> Mapping[str, str]:
        """Return Redis' settings: it asks for certificates; one user may do what a matcher service does."""
        return {
            "tls-cert-file": str(self._keystore),
            "tls-key-file": str(self._keystore),
            "tls-ca-cert-file": str(self.authorities),
            "tls-auth-clients": "yes",
            "user": f"{USER} on >{PASSWORD} {REDIS_RULES}\nuser default off",
        }
