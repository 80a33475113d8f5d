"""Records of `control.replicas`: a sign of life of a replica, keyed by its role and its name; without a value, it has left."""

from __future__ import annotations

import msgspec
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ports.log import Message, Record

from graphtide_wire.json_form import Count, Name, decode, encode

_BETWEEN = "/"


class ReplicaRecord(msgspec.Struct, frozen=True):
    """A sign of life.

    Attributes:
        role: of the replicas that share work, such as `sequencer`.
        replica: name of the process, and of no other.
        beat: how many signs it gave before.
    """

    role: Name
    replica: Name
    beat: Count


def encode_replica(topic: str, record: ReplicaRecord) -> Message:
    """Return the record as it is written."""
    return Message(topic, _key(record.role, record.replica), encode(record))


def encode_leaving(topic: str, role: str, replica: str) -> Message:
    """Return the record of a replica that left."""
    return Message(topic, _key(role, replica), None)


def replica_of(record: Record) -> tuple[str, str]:
    """Return the role and the name of a replica.

    Raises:
        PoisonRecordError: the key has another form.
    """
    role, sign, replica = (record.key or b"").decode("utf-8", "replace").partition(_BETWEEN)
    if not (role and sign and replica):
        reason = "the key of a replica is ROLE/NAME"
        raise PoisonRecordError(reason, record.value or b"")
    return role, replica


def decode_replica(record: Record) -> ReplicaRecord:
    """Return a sign of life; a replica that left has none.

    Raises:
        PoisonRecordError: it is not a record of this form.
    """
    return decode(record.value, ReplicaRecord, "sign of life of a replica")


def _key(role: str, replica: str) -> bytes:
    return f"{role}{_BETWEEN}{replica}".encode()
