"""A field of a record is added to its struct alone: releases before and after read each other, and schemas have it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from graphtide_testing.wire_examples import EXAMPLES, record_of
from graphtide_wire import schemas
from graphtide_wire.json_form import decode, encode
from graphtide_wire.plans import physical_form
from graphtide_wire.statistics import StatisticsForm, StatisticsRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

ROOT: Final = Path(__file__).parents[3]
RECIPE: Final = "Adding a field to a record"
FIELD: Final = "added_later"
FORM_OF: Final[dict[type, type]] = {StatisticsRecord: StatisticsForm}
"""Values that codecs give for structs of another class."""

JSON_EXAMPLES: Final = [each for each in EXAMPLES if FORM_OF.get(type(each.value), type(each.value)) in schemas.FORMS.values()]


def add_field(form: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Return the struct of a newer release, which has one more field."""
    return msgspec.defstruct(
        form.__name__, [(FIELD, str, "nothing")], bases=(form,), namespace={"__doc__": form.__doc__}, frozen=True
    )


def structs_in(value: object, written: Any) -> Iterator[dict[str, object]]:
    """Return what JSON has for each struct of a value, however deep."""
    if isinstance(value, msgspec.Struct):
        yield written
        for each in msgspec.structs.fields(value):
            if each.encode_name in written:
                yield from structs_in(getattr(value, each.name), written[each.encode_name])
    elif isinstance(value, tuple | list):
        for one, other in zip(value, written, strict=True):
            yield from structs_in(one, other)


def test_an_older_release_leaves_the_field_out_wherever_it_stands(subtests: pytest.Subtests) -> None:
    for example in JSON_EXAMPLES:
        with subtests.test(example.name):
            record = record_of(example.message)
            whole = json.loads(record.value or b"")
            places = list(structs_in(example.value, whole)) or [whole]
            for each in places:
                each[FIELD] = {"of": ["any", "form"]}
            assert example.decode(record._replace(value=json.dumps(whole).encode())) == example.value


def test_an_older_release_leaves_a_header_out(subtests: pytest.Subtests) -> None:
    for example in EXAMPLES:
        with subtests.test(example.name):
            record = record_of(example.message)
            assert (
                example.decode(record._replace(headers=(*record.headers, ("graphtide-added-later", b"\xff")))) == example.value
            )


def test_a_newer_release_reads_what_an_older_one_wrote(subtests: pytest.Subtests) -> None:
    for form in schemas.FORMS.values():
        with subtests.test(form.__name__):
            newer = add_field(form)
            old = next(each for each in JSON_EXAMPLES if FORM_OF.get(type(each.value), type(each.value)) is form).message.value
            read = decode(old, newer, "record", physical_form)
            assert getattr(read, FIELD) == "nothing"
            again = json.loads(encode(read))
            assert again.pop(FIELD) == "nothing"
            assert again.items() >= json.loads(old or b"").items()


def test_the_schema_has_it_and_does_not_require_it(monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests) -> None:
    for name in schemas.FORMS:
        with subtests.test(name), monkeypatch.context() as patch:
            before = schema(name)
            patch.setitem(schemas.FORMS, name, add_field(schemas.FORMS[name]))
            after = schema(name)
            assert after["properties"].pop(FIELD) == {"type": "string", "default": "nothing"}
            assert after == before


def schema(name: str) -> dict[str, Any]:
    """Return the schema of a record itself."""
    whole = json.loads(schemas.schemas()[f"{name}.json"])
    found: dict[str, Any] = whole["$defs"][whole["$ref"].rpartition("/")[2]]
    return found


def test_every_form_of_a_record_has_an_example_that_golden_vectors_pin() -> None:
    shown = {FORM_OF.get(type(each.value), type(each.value)) for each in JSON_EXAMPLES}
    assert shown == {*schemas.FORMS.values()}


def test_no_form_refuses_a_field_that_it_does_not_know() -> None:
    pages = {path.name: json.loads(text) for path, text in ((Path(name), text) for name, text in schemas.schemas().items())}
    strict = {
        (page, name)
        for page, whole in pages.items()
        for name, each in whole["$defs"].items()
        if each.get("additionalProperties") is False
    }
    assert strict == set()


def test_the_recipe_names_files_that_are_there() -> None:
    _, _, after = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition(f"## {RECIPE}\n")
    named = re.findall(r"`((?:services|shared|docs)/[^`]+)`", after.partition("\n## ")[0])
    assert named
    assert all((ROOT / each).exists() for each in named)
