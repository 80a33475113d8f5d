"""Avro, read and written the plain way: files with their schema, and values by a schema.

A value of bytes or of a fixed size is its hexadecimal digits. A decimal is the number of its digits, and a date or a timestamp
a `Moment`. A value may be written again: what is read is what it says, and not its bytes.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import math
import struct
import zlib
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from graphtide_testing.oracles.record_decoding import decode_field
from graphtide_testing.oracles.record_texts import Moment, plain

MAGIC: Final = b"Obj\x01"
CODECS: Final = ("null", "deflate", "snappy", "zstandard", "bzip2", "xz")
_MARK: Final = bytes(range(16))
_FLOATS: Final = {"float": "<f", "double": "<d"}
_DECIMALS: Final = {"millis": 3, "micros": 6, "nanos": 9}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_META: Final = {"type": "map", "values": "bytes"}


class Schema:
    """A schema, with its named types."""

    def __init__(self, text: str) -> None:
        """Read a schema."""
        self.root = json.loads(text)
        self._named: dict[str, Any] = {}
        self._learn(self.root, "")

    def _learn(self, kind: Any, space: str) -> None:
        match kind:
            case list():
                for branch in kind:
                    self._learn(branch, space)
            case {"name": str(name)}:
                space = kind.get("namespace", space)
                full = name if "." in name or not space else f"{space}.{name}"
                self._named[full] = kind
                for field in kind.get("fields", ()):
                    self._learn(field["type"], full.rpartition(".")[0])
            case {"type": "array", "items": inner} | {"type": "map", "values": inner}:
                self._learn(inner, space)
            case _:
                pass

    def of(self, kind: Any) -> Any:
        """Return a type, with that of a name."""
        if not isinstance(kind, str):
            return kind
        return next((each for name, each in self._named.items() if kind in {name, name.rpartition(".")[2]}), kind)


def read_file(data: bytes) -> list[object]:
    """Return the values of an object container file."""
    source = io.BytesIO(data)
    assert source.read(4) == MAGIC
    meta = _read_map(source, lambda: _bytes(source))
    mark = source.read(16)
    schema = Schema(meta["avro.schema"].decode())
    found: list[object] = []
    while source.tell() < len(data):
        count, packed = _long(source), _bytes(source)
        assert source.read(16) == mark
        block = io.BytesIO(_unpack(meta.get("avro.codec", b"null").decode(), packed))
        found += [read_value(schema, schema.root, block) for _ in range(count)]
    return found


def write_file(text: str, values: list[Any], codec: str = "null", size: int = 2) -> bytes:
    """Return a file with values of a schema, so many in a block."""
    schema, out = Schema(text), io.BytesIO()
    out.write(MAGIC)
    write_value(Schema('"null"'), _META, {"avro.codec": codec.encode(), "avro.schema": text.encode()}, out)
    out.write(_MARK)
    for start in range(0, len(values), size):
        block = io.BytesIO()
        for value in values[start : start + size]:
            write_value(schema, schema.root, value, block)
        _write_long(len(values[start : start + size]), out)
        _write_bytes(_pack(codec, block.getvalue()), out)
        out.write(_MARK)
    return out.getvalue()


def write_message(text: str, number: int, value: Any) -> bytes:
    """Return a message in Confluent's form."""
    schema, out = Schema(text), io.BytesIO()
    out.write(b"\0" + number.to_bytes(4, "big"))
    write_value(schema, schema.root, value, out)
    return out.getvalue()


def read_value(schema: Schema, kind: Any, source: io.BytesIO) -> Any:  # noqa: PLR0912 - a line for each type
    """Return the next value of a type."""
    kind = schema.of(kind)
    if isinstance(kind, list):
        return read_value(schema, kind[_long(source)], source)
    name, said = (kind, {}) if isinstance(kind, str) else (kind["type"], kind)
    if not isinstance(name, str):
        return read_value(schema, name, source)
    logical = said.get("logicalType", "")
    match name:
        case "null":
            return None
        case "boolean":
            return source.read(1) == b"\1"
        case "int" | "long":
            return _read_moment(_long(source), logical)
        case "float" | "double":
            (number,) = struct.unpack(_FLOATS[name], source.read(struct.calcsize(_FLOATS[name])))
            return None if math.isnan(number) else number
        case "string":
            return _bytes(source).decode()
        case "bytes" | "fixed":
            data = _bytes(source) if name == "bytes" else source.read(said["size"])
            if logical == "decimal":
                number = Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-said.get("scale", 0))
                return plain(decode_field(f"{number:f}"))
            return data.hex()
        case "enum":
            return said["symbols"][_long(source)]
        case "array":
            return _read_items(source, lambda: read_value(schema, said["items"], source))
        case "map":
            return _read_map(source, lambda: read_value(schema, said["values"], source))
        case "record":
            return {field["name"]: read_value(schema, field["type"], source) for field in said["fields"]}
    return read_value(schema, name, source)


def write_value(schema: Schema, kind: Any, value: Any, out: io.BytesIO) -> None:  # noqa: PLR0912 - as above
    """Write a value of a type; that of a union is its branch and the value of the branch."""
    kind = schema.of(kind)
    if isinstance(kind, list):
        branch, value = value
        _write_long(branch, out)
        write_value(schema, kind[branch], value, out)
        return
    name, said = (kind, {}) if isinstance(kind, str) else (kind["type"], kind)
    match name:
        case "null":
            pass
        case "boolean":
            out.write(b"\1" if value else b"\0")
        case "int" | "long":
            _write_long(value, out)
        case "float" | "double":
            out.write(struct.pack(_FLOATS[name], value))
        case "string":
            _write_bytes(value.encode(), out)
        case "bytes":
            _write_bytes(value, out)
        case "fixed":
            out.write(value)
        case "enum":
            _write_long(said["symbols"].index(value), out)
        case "array" | "map":
            items = value.items() if name == "map" else value
            for item in items:
                # A block of one, with its size before it, as may be.
                one = io.BytesIO()
                if name == "map":
                    _write_bytes(item[0].encode(), one)
                write_value(schema, said["values" if name == "map" else "items"], item[1] if name == "map" else item, one)
                _write_long(-1, out)
                _write_bytes(one.getvalue(), out)
            _write_long(0, out)
        case "record":
            for field in said["fields"]:
                write_value(schema, field["type"], value[field["name"]], out)


def _read_moment(number: int, logical: str) -> int | Moment:
    if logical == "date":
        return Moment((date(1970, 1, 1) + timedelta(days=number)).isoformat())
    kind, _, unit = logical.rpartition("-")
    if not kind.endswith("timestamp"):
        return number
    seconds, rest = divmod(number, 10 ** _DECIMALS[unit])
    text = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    return Moment(f"{text}.{rest:0{_DECIMALS[unit]}}{'' if kind.startswith('local') else 'Z'}")


def _long(source: io.BytesIO) -> int:
    number = shift = 0
    while True:
        byte = source.read(1)[0]
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number >> 1 ^ -(number & 1)


def _write_long(number: int, out: io.BytesIO) -> None:
    rest = (number << 1) ^ (number >> 63)
    while rest > 0x7F:
        out.write(bytes([rest & 0x7F | 0x80]))
        rest >>= 7
    out.write(bytes([rest]))


def _bytes(source: io.BytesIO) -> bytes:
    return source.read(_long(source))


def _write_bytes(data: bytes, out: io.BytesIO) -> None:
    _write_long(len(data), out)
    out.write(data)


def _read_items(source: io.BytesIO, read: Any) -> list[Any]:
    found: list[Any] = []
    while count := _long(source):
        if count < 0:
            _long(source)
        found += [read() for _ in range(abs(count))]
    return found


def _read_map(source: io.BytesIO, read: Any) -> dict[str, Any]:
    return dict(_read_items(source, lambda: (_bytes(source).decode(), read())))


def _pack(codec: str, data: bytes) -> bytes:
    match codec:
        case "deflate":
            return zlib.compress(data, wbits=-15)
        case "snappy":
            packed: bytes = pa.compress(data, "snappy", asbytes=True)
            return packed + zlib.crc32(data).to_bytes(4, "big")
        case "zstandard":
            found: bytes = pa.compress(data, "zstd", asbytes=True)
            return found
        case "bzip2":
            return bz2.compress(data)
        case "xz":
            return lzma.compress(data)
    return data


def _unpack(codec: str, data: bytes) -> bytes:
    match codec:
        case "deflate":
            return zlib.decompress(data, wbits=-15)
        case "bzip2":
            return bz2.decompress(data)
        case "xz":
            return lzma.decompress(data)
        case "snappy" | "zstandard":
            raise NotImplementedError(codec)
    return data
