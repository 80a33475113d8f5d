"""Structs that follow from dataclasses of the domain: the same fields, with the bounds that `Annotated` says of them.

The domain knows no library for records, and a form that follows cannot differ from its class. Nothing guards the making: hold a
lock, since two threads that look at one struct for the first time end the process (msgspec 0.22).
"""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass
from functools import reduce
from operator import or_
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import msgspec
from graphtide_core.plans.assigned import Bounds
from msgspec import Meta

_PARTS: Final[dict[type, type[msgspec.Struct]]] = {}
"""Structs of what is a part of others, by its class."""


def struct_of(
    kind: type, name: str, *, without: str = "", base: type | None = None, tag_field: str | None, tag: str | None, terse: bool
) -> type[msgspec.Struct]:
    """Return the struct of a dataclass.

    Args:
        kind: the dataclass; its fields have types of JSON, enums, dataclasses, tuples of those, or None beside them.
        name: of the struct.
        without: name of a field that is left out.
        base: class that it has beside `Struct`.
        tag_field: name of the member that distinguishes structs.
        tag: its value.
        terse: whether members that have their default are left out.
    """
    hints = get_type_hints(kind, include_extras=True)
    return msgspec.defstruct(
        name,
        [_member(each, hints[each.name]) for each in fields(kind) if each.name != without],
        bases=(msgspec.Struct,) if base is None else (base, msgspec.Struct),
        namespace={"__doc__": kind.__doc__},
        frozen=True,
        omit_defaults=terse,
        tag_field=tag_field,
        tag=tag,
    )


def _part(kind: type) -> type[msgspec.Struct]:
    """Return the struct of a dataclass within another; what has its default is left out."""
    if kind not in _PARTS:
        _PARTS[kind] = struct_of(kind, kind.__name__, tag_field=None, tag=None, terse=True)
    return _PARTS[kind]


def _member(of: Field[Any], hint: Any) -> tuple[str, Any] | tuple[str, Any, Any]:
    default = of.default
    if default is MISSING:
        return of.name, _type(hint)
    if is_dataclass(default):
        default = msgspec.convert(default, _part(type(default)), from_attributes=True)
    return of.name, _type(hint), default


def _type(hint: Any) -> Any:
    """Return the type of a member, for that of a field."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        kind, *said = inside
        return Annotated[_type(kind), *(_meta(kind, each) for each in said if isinstance(each, Bounds))]
    if origin is tuple:
        return tuple.__class_getitem__(tuple(each if each is ... else _type(each) for each in inside))
    if inside:
        return reduce(or_, map(_type, inside))
    return _part(hint) if isinstance(hint, type) and is_dataclass(hint) else hint


def _meta(kind: Any, bounds: Bounds) -> Meta:
    if kind in (int, float):
        return Meta(ge=bounds.least, le=bounds.most)
    return Meta(min_length=bounds.least, max_length=bounds.most)
