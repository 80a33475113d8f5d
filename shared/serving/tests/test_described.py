"""Bodies that the wire has are what routes describe and write."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec
import pytest
from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient
from graphtide_serving.described import describe
from graphtide_serving.routes import StrictRoute
from graphtide_testing.raising import raises_nothing
from graphtide_wire import bodies
from graphtide_wire.bodies import MAY_BE_LEFT_OUT, Body, dead_letters, matches, one_of, patterns, sent, streams
from msgspec import Meta
from pydantic import TypeAdapter

MODULES = (dead_letters, matches, patterns, sent, streams)
BODIES = [
    each
    for module in MODULES
    for each in vars(module).values()
    if isinstance(each, type) and issubclass(each, Body) and each.__module__ == module.__name__
]


class Part(Body, frozen=True):
    """A part."""

    kind: Annotated[str, one_of("one", "other")]
    raw: msgspec.Raw = msgspec.Raw(b"{}")


class Whole(Body, frozen=True, kw_only=True):
    """A whole."""

    schema: ClassVar[str | None] = "WholeOut"
    examples: ClassVar[tuple[dict[str, Any], ...]] = ({"parts": []},)

    parts: tuple[Part, ...] = ()
    note: Annotated[str | None, Meta(description="what is odd")] = None
    next: Annotated[str | None, MAY_BE_LEFT_OUT] = None
    created: Annotated[bool, MAY_BE_LEFT_OUT] = False


def test_a_model_has_the_members_and_needs_all_that_may_not_be_left_out() -> None:
    schema = TypeAdapter(describe(Whole)).json_schema()
    assert (schema["title"], schema["description"], schema["required"]) == ("WholeOut", "A whole.", ["parts", "note"])
    assert list(schema["properties"]) == ["parts", "note", "next", "created"]
    assert schema["$defs"]["Part"]["properties"]["kind"]["enum"] == ["one", "other"]
    assert schema["properties"]["note"]["description"] == "what is odd"
    assert schema["properties"]["created"] == {"default": None, "title": "Created", "type": "boolean"}
    assert schema["examples"] == [{"parts": []}]


def test_a_route_that_returns_a_body_writes_what_its_reader_reads() -> None:
    whole = Whole(parts=(Part("one", {"a": [1]}),), note=None, next="0-1")  # type: ignore[arg-type]  # a server has it read
    app, routes = FastAPI(), APIRouter(route_class=StrictRoute)

    @routes.get("/")
    def get() -> Whole:
        return whole

    app.include_router(routes)
    content = TestClient(app).get("/").content
    assert bytes(msgspec.json.decode(content, type=Whole).parts[0].raw) == b'{"a":[1]}'
    assert msgspec.json.decode(content) == {
        "parts": [{"kind": "one", "raw": {"a": [1]}}],
        "note": None,
        "next": "0-1",
        "created": False,
    }
    assert app.openapi()["components"]["schemas"].keys() == {"WholeOut", "Part", "JsonValue"}


@pytest.mark.parametrize("body", BODIES)
def test_every_example_is_read_and_passes_the_model(body: type[Body]) -> None:
    for example in body.__dict__.get("examples", ()):
        form = body if "match" not in str(example) else dict
        with raises_nothing():
            msgspec.convert(example, form)
            describe(body).model_validate(example)
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert([example], form)


def test_all_bodies_are_looked_at() -> None:
    assert len(BODIES) > 15
    assert bodies.TIME
