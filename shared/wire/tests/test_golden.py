"""Every record keeps its bytes: what an older release wrote is read by a newer one, and the other way round.

A vector holds the headers, one a line, and after an empty line the value; the key is that of the example.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from graphtide_core.ports.log import Message
from graphtide_testing.wire_examples import COLUMNS, EXAMPLES, record_of
from graphtide_wire import ordered_body
from graphtide_wire.schemas import schemas

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_core.edge import Value
    from graphtide_core.ports.log import Headers

FIXTURES = Path(__file__).parent / "fixtures"
SCHEMAS = Path(__file__).parents[3] / "docs" / "reference" / "schemas"


def vector(message: Message) -> bytes:
    lines = [name.encode() + b": " + value + b"\n" for name, value in message.headers]
    return b"".join(lines) + b"\n" + (message.value or b"")


def message_of(vector: bytes) -> Message:
    head, _, value = (b"\n" + vector).partition(b"\n\n")
    headers: Headers = tuple(
        (name.decode(), text) for name, _, text in (line.partition(b": ") for line in head.splitlines() if line)
    )
    return Message("t", None, value, headers)


def test_records_are_written_as_ever(subtests: pytest.Subtests) -> None:
    for example in EXAMPLES:
        with subtests.test(example.name):
            assert vector(example.message) == (FIXTURES / f"{example.name}.txt").read_bytes()


def test_records_of_ever_are_read(subtests: pytest.Subtests) -> None:
    for example in EXAMPLES:
        with subtests.test(example.name):
            message = message_of((FIXTURES / f"{example.name}.txt").read_bytes())
            assert example.decode(record_of(message)._replace(key=example.message.key)) == example.value


def test_there_is_no_vector_without_an_example() -> None:
    assert {path.stem for path in FIXTURES.glob("*.txt")} == {example.name for example in EXAMPLES}


@pytest.mark.parametrize(
    ("fixture", "columns"),
    [
        ("ordered-body", {name: values for name, values in COLUMNS.items() if name != ordered_body.MADE}),
        ("ordered-body-made", COLUMNS),
        ("ordered-body-streams", COLUMNS | {ordered_body.STREAM: ["flows", "logins"]}),
    ],
)
def test_ordered_edges_of_ever_are_read(fixture: str, columns: Mapping[str, Sequence[Value]]) -> None:
    table = ordered_body.decode((FIXTURES / f"{fixture}.arrow").read_bytes())
    assert table.to_pydict() == columns
    assert table.schema == ordered_body.decode(ordered_body.encode(columns)).schema


def test_the_documented_schemas_are_those_of_the_code() -> None:
    assert {path.name: path.read_text("utf-8") for path in SCHEMAS.glob("*.json")} == schemas()
