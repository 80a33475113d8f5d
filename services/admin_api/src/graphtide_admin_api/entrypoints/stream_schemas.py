"""Routes about what attributes of streams are."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request
from graphtide_core.predicate import RECORD_FIELDS
from graphtide_serving.access.guard import known_caller, require
from graphtide_serving.access.rights import ADMIN, READ_MATCHES, READ_PATTERNS
from graphtide_serving.routes import JsonRoute
from graphtide_wire.bodies.streams import AttributeSchema, StreamSchema
from msgspec.structs import replace

from graphtide_admin_api.application.edges import Edge
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.entrypoints.forms import SchemaIn
from graphtide_admin_api.entrypoints.parameters import StreamPath
from graphtide_admin_api.entrypoints.parts import Parts
from graphtide_admin_api.entrypoints.streams import checked_sent, ordered_streams

_MOST_LOOKED_AT: Final = 200
"""New edges whose values are examples."""


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["streams"], route_class=JsonRoute)
    reads = [Depends(parts.rights.of_stream(READ_PATTERNS))]
    administers = [Depends(parts.requires(ADMIN))]

    @routes.get("/streams/{stream}/schema", dependencies=reads)
    def get_schema(
        stream: StreamPath,
        request: Request,
        examples: Annotated[int, Query(ge=0, le=5, description="Values of each attribute; needs `matches:read`.")] = 0,
    ) -> StreamSchema:
        """Return the known attributes of a stream, declared or seen in edges, and its labels with their counts."""
        found = _schema(parts, checked_sent(stream))
        if not examples:
            return found
        require(known_caller(request), READ_MATCHES, stream=stream)
        edges = parts.edges.newest(ordered_streams(parts, stream), _MOST_LOOKED_AT).edges
        return replace(found, attributes=[_add_examples(each, edges, examples) for each in found.attributes])

    @routes.put("/streams/{stream}/schema", dependencies=administers)
    def declare_schema(stream: StreamPath, schema: SchemaIn) -> StreamSchema:
        """Declare types of attributes. Edges with values of other types become dead letters. `{}` removes all types."""
        reserved = sorted(name for name in schema.attributes if name in {*RECORD_FIELDS, "op"})
        if reserved:
            detail = f"{reserved[0]!r} is not an attribute: a record's own fields have their types"
            raise ProblemError(422, "reserved-attribute", detail)
        parts.schemas.declare(checked_sent(stream), schema.attributes)
        return _schema(parts, stream)

    return routes


def _schema(parts: Parts, stream: str) -> StreamSchema:
    declared, seen = parts.view.schema(stream, "declared"), parts.view.schema(stream, "seen")
    attributes = [AttributeSchema(name, kind, "declared") for name, kind in declared.items()]
    attributes += [AttributeSchema(name, kind, "seen") for name, kind in seen.items() if name not in declared]
    return StreamSchema(stream=stream, attributes=sorted(attributes, key=lambda each: each.name), labels=_labels(parts, stream))


def _labels(parts: Parts, stream: str) -> dict[str, int]:
    """Return how often each label is in the newest snapshot of a stream, the most frequent first."""
    record, counted = parts.view.statistics(stream), Counter[str]()
    for kind, count in record.snapshot.types.items() if record is not None else ():
        counted[kind.label] += count
    return dict(sorted(counted.items(), key=lambda each: (-each[1], each[0])))


def _add_examples(attribute: AttributeSchema, edges: list[Edge], most: int) -> AttributeSchema:
    """Return an attribute with up to so many different values of edges."""
    values = (edge.attributes.get(attribute.name) for edge in edges)
    # True and 1 are equal, but not one value.
    different = {(type(value), value): value for value in values if value is not None}
    return replace(attribute, values=tuple(islice(different.values(), most)))
