"""A codec reads any bytes as a value or as a bad record; it raises nothing else."""

from __future__ import annotations

from functools import partial

import pytest
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ports.log import Record
from graphtide_testing.raising import read_or_refused
from graphtide_testing.wire_examples import COLUMNS, EXAMPLES, Example, record_of
from graphtide_wire import ordered_body, raw
from hypothesis import given
from hypothesis import strategies as st

BODY = ordered_body.encode(COLUMNS)
DAMAGE = st.lists(st.tuples(st.integers(0, 5000), st.binary(max_size=3)), min_size=1, max_size=4)


def damage_bytes(value: bytes, damage: list[tuple[int, bytes]]) -> bytes:
    for place, inserted in damage:
        at = place % (len(value) + 1)
        value = value[:at] + inserted + value[at + 1 :]
    return value


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
@given(value=st.binary(max_size=200) | DAMAGE, header=DAMAGE, chosen=st.integers(0, 20))
def test_damaged_records_are_refused_or_read(
    example: Example, value: bytes | list[tuple[int, bytes]], header: list[tuple[int, bytes]], chosen: int
) -> None:
    record = record_of(example.message)
    body = value if isinstance(value, bytes) else damage_bytes(record.value or b"", value)
    headers = tuple(
        (name, damage_bytes(text, header) if place == chosen else text) for place, (name, text) in enumerate(record.headers)
    )
    read_or_refused(lambda: example.decode(record._replace(value=body, headers=headers)), PoisonRecordError)


def test_a_missing_value_or_header_is_no_surprise(subtests: pytest.Subtests) -> None:
    for example in EXAMPLES:
        with subtests.test(example.name):
            record = record_of(example.message)
            for place in range(len(record.headers)):
                fewer = record.headers[:place] + record.headers[place + 1 :]
                read_or_refused(partial(example.decode, record._replace(headers=fewer)), PoisonRecordError)
            if not example.name.startswith("ordered-"):
                with pytest.raises(PoisonRecordError):
                    example.decode(record._replace(value=None))


@given(st.binary(max_size=300) | DAMAGE.map(lambda damage: damage_bytes(BODY, damage)))
def test_damaged_arrow_is_refused_or_read(body: bytes) -> None:
    read_or_refused(lambda: ordered_body.decode(body), PoisonRecordError)


@given(
    value=st.binary(max_size=200), kind=st.sampled_from(["application/json", "application/cloudevents+json", "text/csv", "x"])
)
def test_any_raw_record_is_refused_or_taken(value: bytes, kind: str) -> None:
    headers = (("content-type", kind.encode()), ("graphtide-columns", b"ts,src,dst,label"))
    read_or_refused(lambda: raw.decode(Record("t", 0, 0, 0, None, value, headers)), PoisonRecordError)


@pytest.mark.parametrize("depth", [1_000, 100_000])
def test_deep_json_is_refused(depth: int) -> None:
    body = b'{"specversion":"1.0","data":' + b"[" * depth + b"]" * depth + b"}"
    record = Record("t", 0, 0, 0, None, body, (("content-type", b"application/cloudevents+json"),))
    read_or_refused(lambda: raw.decode(record), PoisonRecordError)
