"""A producer in C, for records that Python's client cannot make: header names that are not UTF-8.

It calls the librdkafka that the wheel of confluent-kafka carries, so that what arrives is what a program in C would send.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING, Final

import confluent_kafka

if TYPE_CHECKING:
    from collections.abc import Sequence

_PRODUCER: Final = 0
_COPY: Final = 2
_FLUSH_MILLISECONDS: Final = 30_000
_END, _TOPIC, _PARTITION, _VALUE, _KEY, _FLAGS, _HEADERS = (ctypes.c_int(number) for number in (0, 1, 3, 4, 5, 7, 10))
"""What the next arguments of `rd_kafka_producev` are (rd_kafka_vtype_t)."""


def send_raw(
    bootstrap: str, topic: str, headers: Sequence[tuple[bytes, bytes]], value: bytes = b"", *, key: bytes = b""
) -> None:
    """Send one record whose header names are any bytes to the first partition; return when the broker has it.

    Raises:
        OSError: librdkafka refuses, or the broker does not answer.
    """
    library = _library()
    conf = library.rd_kafka_conf_new()
    reason = ctypes.create_string_buffer(512)
    library.rd_kafka_conf_set(conf, b"bootstrap.servers", bootstrap.encode(), reason, ctypes.c_size_t(512))
    client = library.rd_kafka_new(_PRODUCER, conf, reason, ctypes.c_size_t(512))
    if not client:
        raise OSError(reason.value.decode())
    client = ctypes.c_void_p(client)
    made = ctypes.c_void_p(library.rd_kafka_headers_new(ctypes.c_size_t(len(headers))))
    for name, text in headers:
        library.rd_kafka_header_add(made, name, ctypes.c_ssize_t(len(name)), text, ctypes.c_ssize_t(len(text)))
    record = (_TOPIC, topic.encode(), _PARTITION, ctypes.c_int32(0), _FLAGS, ctypes.c_int(_COPY))
    content = (_VALUE, value, ctypes.c_size_t(len(value)), _KEY, key, ctypes.c_size_t(len(key)), _HEADERS, made)
    refused = library.rd_kafka_producev(client, *record, *content, _END)
    left = refused or library.rd_kafka_flush(client, _FLUSH_MILLISECONDS)
    library.rd_kafka_destroy(client)
    if left:
        message = f"librdkafka's error {left}"
        raise OSError(message)


def _library() -> ctypes.CDLL:
    """Return librdkafka with the types of what is called."""
    packages = Path(confluent_kafka.__file__).parent.parent
    library = ctypes.CDLL(str(next(packages.glob("confluent_kafka.libs/librdkafka*"))))
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_headers_new"):
        getattr(library, name).restype = ctypes.c_void_p
    library.rd_kafka_conf_set.argtypes = [ctypes.c_void_p, *[ctypes.c_char_p] * 3, ctypes.c_size_t]
    library.rd_kafka_new.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    return library
