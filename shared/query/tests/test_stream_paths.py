"""Paths of statements to what is around a record, and to items by a field: read, printed, and refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import InvalidPatternError
from graphtide_core.record_expression import FieldPath, ItemWhere
from graphtide_query import parse_streams, print_stream

if TYPE_CHECKING:
    from graphtide_core.stream_definition import StreamDefinition

NESTED = "STREAM s FORMAT json (UNNEST a.b) EVENT k AT ts SET x = {}"


def path_of(text: str) -> tuple[FieldPath, StreamDefinition]:
    (definition,) = parse_streams(NESTED.format(text))
    found = definition.sets[0].value
    assert isinstance(found, FieldPath)
    return found, definition


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("OUTER.x", FieldPath(("x",), 1)),
        ("outer . OUTER.x[0].y", FieldPath(("x", 0, "y"), 2)),
        ("x.outer.y", FieldPath(("x", "outer", "y"))),
        ("`outer`.y", FieldPath(("outer", "y"))),
        ("outer", FieldPath(("outer",))),
        ("OUTER.`outer`.y", FieldPath(("outer", "y"), 1)),
        ("tags[key = 'service.name'].value", FieldPath(("tags", ItemWhere("key", "service.name"), "value"))),
        ('OUTER.a[`k.e` = "it\'s"][2]', FieldPath(("a", ItemWhere("k.e", "it's"), 2), 1)),
    ],
)
def test_paths_are_read_and_printed(text: str, path: FieldPath) -> None:
    found, definition = path_of(text)
    assert found == path
    assert parse_streams(print_stream(definition)) == (definition,)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("STREAM s EVENT k AT ts SET x = OUTER.y", "reads 1 objects around a record, and UNNEST goes through 0"),
        ("STREAM s FORMAT json UNNEST a EVENT k AT ts SET x = OUTER.OUTER.y", "UNNEST goes through 1"),
        ("STREAM s FORMAT json UNNEST a[0].b EVENT k AT ts WHERE OUTER.OUTER.OUTER.y = 1", "UNNEST goes through 2"),
        ("STREAM s FORMAT avro UNNEST a EVENT k AT ts SET x = OUTER.OUTER.y", "UNNEST goes through 1"),
        ("STREAM s FORMAT csv EVENT k AT ts SET x = a[k = 'v']", "conditions in paths read JSON, Avro and Protobuf, not csv"),
        ("STREAM s FORMAT json UNNEST OUTER.a EVENT k AT ts", "UNNEST goes by names and positions alone"),
        ("STREAM s FORMAT json UNNEST a[k = 'v'] EVENT k AT ts", "UNNEST goes by names and positions alone"),
        ("STREAM s EVENT k AT ts SET x = a[`` = 'v']", "the name of a field is empty"),
    ],
)
def test_what_a_path_cannot_read_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidPatternError) as raised:
        parse_streams(text)
    assert reason in raised.value.reason
    assert raised.value.location is not None
