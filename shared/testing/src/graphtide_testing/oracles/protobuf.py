"""Messages of Protobuf as documents, by its own library: what a message says by its descriptor, whatever its bytes are.

A field that a message does not have is missing where the message knows that, else it has the default of its type. An enum is
its symbol, or its number where it has none; bytes are hexadecimal digits; a timestamp is a `Moment`, a duration its seconds.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor

from graphtide_testing.oracles.record_decoding import decode_field
from graphtide_testing.oracles.record_texts import Moment, plain

_TIMESTAMP: Final = "google.protobuf.Timestamp"
_DURATION: Final = "google.protobuf.Duration"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def read_message(message: Any) -> Any:
    """Return the document of a message."""
    match message.DESCRIPTOR.full_name:
        case name if name == _TIMESTAMP:
            text = (_EPOCH + timedelta(seconds=message.seconds)).strftime("%Y-%m-%dT%H:%M:%S")
            return Moment(f"{text}.{message.nanos:09}Z")
        case name if name == _DURATION:
            total = message.seconds * 10**9 + message.nanos
            whole = total % 10**9 == 0
            return plain(decode_field(str(total // 10**9) if whole else f"{Decimal(total).scaleb(-9):f}"))
    return {field.name: _read_field(message, field) for field in message.DESCRIPTOR.fields}


def _read_field(message: Any, field: Any) -> Any:
    value = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        of_value = field.message_type.fields_by_name["value"]
        return {_write_key(key): _read_value(value[key], of_value) for key in value}
    if field.is_repeated:
        return [_read_value(each, field) for each in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _read_value(value, field)


def _write_key(key: object) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _read_value(value: Any, field: Any) -> Any:
    match field.type:
        case FieldDescriptor.TYPE_MESSAGE | FieldDescriptor.TYPE_GROUP:
            return read_message(value)
        case FieldDescriptor.TYPE_BYTES:
            return value.hex()
        case FieldDescriptor.TYPE_ENUM:
            symbol = field.enum_type.values_by_number.get(value)
            return value if symbol is None else symbol.name
        case FieldDescriptor.TYPE_UINT64 | FieldDescriptor.TYPE_FIXED64 if value >= 2**63:
            return float(value)
        case FieldDescriptor.TYPE_DOUBLE | FieldDescriptor.TYPE_FLOAT if math.isnan(value):
            return None
    return value
