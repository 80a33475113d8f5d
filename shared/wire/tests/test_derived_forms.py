"""Structs that follow from dataclasses have their fields, their bounds and their defaults."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

import msgspec
import pytest
from graphtide_core.plans.assigned import Bounds
from graphtide_wire.derived_forms import struct_of


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Part:
    number: Annotated[int, Bounds(1, 9)] = 1
    text: Annotated[str, Bounds(most=3)] = ""


@dataclass(frozen=True, slots=True)
class Whole:
    """What a struct is made of."""

    engine: str
    numbers: Annotated[tuple[Annotated[int, Bounds(0)], ...], Bounds(most=2)]
    part: Part = Part()
    parts: tuple[Part, ...] | None = None
    colour: Colour = Colour.RED
    shares: tuple[float | None, ...] = ()


WHOLE = struct_of(Whole, "Whole", without="engine", tag_field="engine", tag="e", terse=False)
TERSE = struct_of(Whole, "Whole", without="engine", tag_field="engine", tag="e", terse=True)


def write(form: type[msgspec.Struct], **members: object) -> bytes:
    return msgspec.json.encode(msgspec.convert({"engine": "e", **members}, form, from_attributes=True))


def test_members_are_in_the_order_of_the_fields_behind_the_tag() -> None:
    found = write(WHOLE, numbers=(1,), parts=(Part(2, "a"),))
    assert found == b'{"engine":"e","numbers":[1],"part":{},"parts":[{"number":2,"text":"a"}],"colour":"red","shares":[]}'


def test_what_has_its_default_is_left_out_of_parts_and_where_that_is_asked() -> None:
    assert write(TERSE, numbers=()) == b'{"engine":"e","numbers":[]}'
    assert write(TERSE, numbers=(), parts=(Part(),), shares=(1.5, None)) == (
        b'{"engine":"e","numbers":[],"parts":[{}],"shares":[1.5,null]}'
    )


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (b'"numbers":[0,1,2]', "length <= 2"),
        (b'"numbers":[-1]', ">= 0"),
        (b'"numbers":[],"part":{"number":10}', "<= 9"),
        (b'"numbers":[],"part":{"text":"four"}', "length <= 3"),
        (b'"numbers":[],"parts":[{"number":0}]', ">= 1"),
        (b'"numbers":[],"colour":"blue"', "Invalid enum value 'blue'"),
        (b'"part":{}', "missing required field `numbers`"),
    ],
)
def test_what_is_out_of_bounds_is_refused_with_its_place(members: bytes, message: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=message):
        msgspec.json.decode(b'{"engine":"e",%b}' % members, type=WHOLE)


def test_a_struct_gives_the_dataclass_back() -> None:
    form = msgspec.json.decode(b'{"engine":"e","numbers":[1],"parts":[{"number":2}]}', type=WHOLE)
    members = msgspec.structs.asdict(form)
    assert msgspec.convert({"engine": "e", **members}, Whole, from_attributes=True) == Whole("e", (1,), parts=(Part(2),))
