"""Routes about what attributes of streams are."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from graphtide_core.predicate import RECORD_FIELDS
from graphtide_serving.access.callers import ADMIN, READ_PATTERNS
from graphtide_serving.routes import JsonRoute
from graphtide_wire.bodies.streams import AttributeSchema, StreamSchema

from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.entrypoints.forms import SchemaIn
from graphtide_admin_api.entrypoints.parameters import StreamPath
from graphtide_admin_api.entrypoints.parts import Parts
from graphtide_admin_api.entrypoints.streams import checked_sent


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["streams"], route_class=JsonRoute)
    reads = [Depends(parts.requires(READ_PATTERNS))]
    administers = [Depends(parts.requires(ADMIN))]

    @routes.get("/streams/{stream}/schema", dependencies=reads)
    def get_schema(stream: StreamPath) -> StreamSchema:
        """Return the known attributes of a stream: declared, or seen in edges."""
        return _schema(parts, checked_sent(stream))

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
    return StreamSchema(stream=stream, attributes=sorted(attributes, key=lambda each: each.name))
