"""Costs of matcher hosts, and the planner's decisions on their number: one topic, as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from graphtide_core.errors import PoisonRecordError
from msgspec import Meta

from graphtide_wire.json_form import Count, Instant, Name, decode, encode

Share = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(ge=0)]
Mode = Literal["follow", "dry-run", "on"]


class StreamPlace(msgspec.Struct, frozen=True):
    """How far a host is in an ordered stream: the offset it reads next, and how old the last record was when it was read."""

    stream: Name
    position: Count
    lag_seconds: Seconds


class HostRecord(msgspec.Struct, frozen=True):
    """The cost of one shard of a matcher service.

    `busy` is the share of time since the record before in which it did not wait for records: seconds of work a second.
    """

    service: Name
    shard: Count
    at: Instant
    busy: Share
    memory_bytes: Count
    streams: tuple[StreamPlace, ...] = ()


class ScalingRecord(msgspec.Struct, frozen=True):
    """A decision of the planner on the replicas of a matcher service, with its reason.

    `replicas` is what the orchestrator was asked for last, `ready` how many of them serve, `wanted` what there should be within
    `least` and `most`. While replicas are to become fewer, patterns leave the shards from `draining` on.
    """

    service: Name
    at: Instant
    mode: Mode
    replicas: Count
    ready: Count
    wanted: Count
    least: Count
    most: Count
    reason: str
    draining: Count | None = None


def host_key(record: HostRecord) -> bytes:
    """Return the key of what a host says of itself."""
    return shard_key(record.service, record.shard)


def shard_key(service: str, shard: int) -> bytes:
    """Return the key of what the host of a shard says of itself."""
    return f"{service}.{shard}".encode()


def scaling_key(service: str) -> bytes:
    """Return the key of what was decided of a service."""
    return (service + _SCALING).encode()


def encode_host(record: HostRecord) -> bytes:
    """Return the record's value."""
    return encode(record)


def encode_scaling(record: ScalingRecord) -> bytes:
    """Return the record's value."""
    return encode(record)


def decode_hosts(key: bytes | None, value: bytes | None) -> HostRecord | ScalingRecord:
    """Return what a record of the topic that has a value says.

    Raises:
        PoisonRecordError: it is neither, or not under its key.
    """
    found: HostRecord | ScalingRecord
    if (key or b"").endswith(_SCALING.encode()):
        found = decode(value, ScalingRecord, "decision about replicas")
        expected = scaling_key(found.service)
    else:
        found = decode(value, HostRecord, "host's metrics")
        expected = host_key(found)
    if key != expected:
        reason = f"what is said of {found.service} is not under its key"
        raise PoisonRecordError(reason, value or b"")
    return found


_SCALING = "@scaling"
