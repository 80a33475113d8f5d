"""Structures of the wire as answers of routes: FastAPI describes and checks them by a model that is made of the structure.

So what servers write and clients read is written once (`graphtide_wire.bodies`), and clients need no pydantic.
"""

from __future__ import annotations

import types
from functools import cache
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from graphtide_wire.bodies import MAY_BE_LEFT_OUT, Body
from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model
from pydantic.json_schema import SkipJsonSchema

_MODELS: Final[dict[type[Body], type[BaseModel]]] = {}


def described_by(body: type[Body], model: type[BaseModel]) -> None:
    """Describe a body by an existing model, since requests have it, too."""
    _MODELS[body] = model


@cache
def describe(body: type[Body]) -> type[BaseModel]:
    """Return the model of a body: its members in their order, all required but those that may be left out."""
    if body in _MODELS:
        return _MODELS[body]
    hints = get_type_hints(body, include_extras=True)
    fields: dict[str, Any] = {each.name: _field(hints[each.name], each.encode_name) for each in msgspec.structs.fields(body)}
    examples = list(body.__dict__.get("examples", ()))
    config = ConfigDict(from_attributes=True, json_schema_extra={"examples": examples} if examples else None)
    return create_model(body.__dict__.get("schema") or body.__name__, __config__=config, __doc__=body.__doc__, **fields)


def _field(hint: Any, name: str) -> tuple[Any, Any]:
    """Return the type and the description of a member that has a name in JSON."""
    inner, marks = (hint.__origin__, hint.__metadata__) if get_origin(hint) is Annotated else (hint, ())
    description = next((mark.description for mark in marks if mark.description is not None), None)
    if MAY_BE_LEFT_OUT not in marks:
        return _type(hint), Field(description=description, serialization_alias=name)
    kind = _type(inner)
    is_null = type(None) in get_args(kind)
    left_out: Any = SkipJsonSchema[None]  # type: ignore[misc]  # pydantic hides from mypy that it takes types
    return kind if is_null else kind | left_out, Field(None, description=description, serialization_alias=name)


def _type(hint: Any) -> Any:
    """Return the type of a member as pydantic has it."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        words = next((mark.extra["one of"] for mark in hint.__metadata__ if mark.extra and "one of" in mark.extra), None)
        return _type(parts[0]) if words is None else Literal[words]
    if origin in {Union, types.UnionType}:
        return Union[tuple(map(_type, parts))]  # noqa: UP007 - it is made of what is found
    if origin in {list, tuple}:
        return types.GenericAlias(list, _type(parts[0]))
    if origin is dict:
        return types.GenericAlias(dict, (parts[0], _type(parts[1])))
    if hint is msgspec.Raw:
        return JsonValue
    return describe(hint) if isinstance(hint, type) and issubclass(hint, Body) else hint
