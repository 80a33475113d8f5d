"""Records of Kafka's topic of commits, as brokers write them."""

from __future__ import annotations

import struct

import pytest
from graphtide_core.ports.log import Position, TopicPartition
from graphtide_log.kafka.commit_records import hash_of, place_of, position_of


def text(value: str) -> bytes:
    return struct.pack(">h", len(value.encode())) + value.encode()


def key(group: str, topic: str, partition: int, version: int = 1) -> bytes:
    return struct.pack(">h", version) + text(group) + text(topic) + struct.pack(">i", partition)


@pytest.mark.parametrize(
    ("group", "found"),
    # By String.hashCode of Java.
    [("", 0), ("a", 97), ("test.matcher_timing.1", 374472234), ("polygenelubricants", 0), ("größe", 98762257)],
)
def test_groups_have_the_hash_that_java_gives_them(group: str, found: int) -> None:
    assert hash_of(group) == found


@pytest.mark.parametrize("version", [0, 1])
def test_a_key_names_the_partition_of_its_group(version: int) -> None:
    assert place_of(key("g", "größe", 7, version), b"g") == TopicPartition("größe", 7)


@pytest.mark.parametrize(
    "other", [key("g2", "t", 0), key("", "g", 0), struct.pack(">h", 2) + text("g"), struct.pack(">h", 3) + text("g")]
)
def test_other_groups_and_other_records_are_none_of_a_group(other: bytes) -> None:
    assert place_of(other, b"g") is None


@pytest.mark.parametrize("version", range(4))
def test_positions_of_all_versions_are_read(version: int) -> None:
    epoch = struct.pack(">i", -1) if version >= 3 else b""
    times = struct.pack(">q", 1) * (2 if version == 1 else 1)
    value = struct.pack(">hq", version, 2**40) + epoch + text("größe") + times
    assert position_of(value) == Position(2**40, "größe")


def test_a_zero_byte_ends_what_is_remembered_as_clients_read_it() -> None:
    assert position_of(struct.pack(">hqi", 3, 1, -1) + text("so far\0") + struct.pack(">q", 1)) == Position(1, "so far")


@pytest.mark.parametrize("remembered", ["", "x" * 126, "ä" * 2000])
def test_positions_of_version_four_have_compact_texts(remembered: str) -> None:
    size, length = len(remembered.encode()) + 1, b""
    while size > 0x7F:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    value = struct.pack(">hqi", 4, 5, 3) + length + bytes([size]) + remembered.encode() + struct.pack(">q", 1) + b"\0"
    assert position_of(value) == Position(5, remembered)


@pytest.mark.parametrize("value", [struct.pack(">hq", 5, 1), struct.pack(">hq", -1, 1), b"", struct.pack(">hq", 3, 1)])
def test_what_is_no_position_is_said_to_be_none(value: bytes) -> None:
    with pytest.raises((ValueError, struct.error)):
        position_of(value)
