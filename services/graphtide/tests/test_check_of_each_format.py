"""A check without SET shows the fields of the first records, in every format that has names for them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from graphtide import Stream
from graphtide.stream_check import check_stream
from graphtide_testing.oracles import avro

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = json.dumps({"type": "record", "name": "r", "fields": [{"name": "t", "type": "long"}, {"name": "k", "type": "string"}]})


@pytest.mark.parametrize(
    ("stated", "data", "shown"),
    [
        ("jsonl", b'{"t": 1, "k": "a", "in": {"x": 2}}\n', {"t = 1", 'k = "a"', "in.x = 2"}),
        ("xml (ROW 'row')", b"""<rows><row t="1" k='a' x = "x=2" /></rows>""", {"t = 1", 'k = "a"', 'x = "x=2"'}),
        (
            "syslog",
            b"<34>Jan 31 2024 12:00:00 m su[7]: no\n",
            {'appname = "su"', "severity = 2", "procid = 7", 'hostname = "m"'},
        ),
        ("regex '(?P<t>[0-9]+) (?P<k>.*)'", b"1 a\n", {"t = 1", 'k = "a"'}),
        ("avro", avro.write_file(SCHEMA, [{"t": 1, "k": "a"}]), set()),
    ],
)
def test_fields_are_shown_by_their_names(stated: str, data: bytes, shown: set[str], tmp_path: Path) -> None:
    file = tmp_path / "sample"
    file.write_bytes(data)
    time = "timestamp FORMAT 'syslog'" if stated == "syslog" else "t"
    found = check_stream(Stream(f"STREAM s FORMAT {stated} EVENT 'x' AT {time}").definition, str(file))
    (record,) = found.shown
    assert shown <= set(record.attributes)
    assert shown or not record.attributes
