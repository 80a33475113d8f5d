"""A listener of Kafka that asks clients for a certificate and a login, and what clients need for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import trustme
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

if TYPE_CHECKING:
    from pathlib import Path

USER: Final = "graphtide"
PASSWORD: Final = "hidden-word"  # noqa: S105 - of a server of the tests

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

_MODULES: Final = "org.apache.kafka.common.security"


class Security:
    """Certificates in a folder, and the one user who may log in, by `PLAIN` or `SCRAM-SHA-512`.

    Attributes:
        authorities: file in PEM of the authority that signed the server's and the client's certificates.
        certificate: file in PEM of the client's certificate.
        key: file in PEM of its key.
        server_chain: file in PEM of the server's key and certificate, which is for 127.0.0.1.
    """

    def __init__(self, folder: Path) -> None:
        """Make what is needed in the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        authority = trustme.CA()
        server, client = authority.issue_cert("127.0.0.1"), authority.issue_cert("client@graphtide.test")
        self.authorities = folder / "authorities.pem"
        self.certificate = folder / "client.pem"
        self.key = folder / "client.key"
        self.server_chain = folder / "server.pem"
        authority.cert_pem.write_to_path(self.authorities)
        client.cert_chain_pems[0].write_to_path(self.certificate)
        client.private_key_pem.write_to_path(self.key)
        # Kafka reads keys in the format PKCS 8 alone.
        key = load_pem_private_key(server.private_key_pem.bytes(), None)
        chain = b"".join(each.bytes() for each in server.cert_chain_pems)
        self.server_chain.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + chain)

    def properties(self) -> str:
        """Return the server's settings for its listener `SECURE`."""
        files = {"keystore": self.server_chain, "authorities": self.authorities}
        return _PROPERTIES.format(modules=_MODULES, user=USER, password=PASSWORD, **files)

    def of_storage(self) -> list[str]:
        """Return what storage is formatted with, so that the user is known from the start."""
        return ["--add-scram", f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"]
