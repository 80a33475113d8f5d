"""Routes of long work: backfills of registered patterns, and how far they are."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Response
from graphtide_query.families import AUTO
from graphtide_serving.access.rights import READ_PATTERNS, WRITE_PATTERNS
from graphtide_serving.routes import JsonRoute
from pydantic import BaseModel, ConfigDict, Field

from graphtide_admin_api.application.operations import Operation
from graphtide_admin_api.domain.registration import check_engine, read
from graphtide_admin_api.entrypoints.forms import Engine, Strict
from graphtide_admin_api.entrypoints.parameters import Ticks
from graphtide_admin_api.entrypoints.parts import Parts


class BackfillIn(Strict):
    """The range of times to find matches in, in ticks of the stream; null is the beginning or end of history."""

    model_config = ConfigDict(
        populate_by_name=True, json_schema_extra={"examples": [{"from": 1704067200000, "to": 1704153600000}, {}]}
    )

    start: Annotated[Ticks | None, Field(alias="from", description="First time of detection.")] = None
    end: Annotated[Ticks | None, Field(alias="to", description="Time before which matches are detected.")] = None
    engine: Engine = AUTO


class OperationOut(BaseModel):
    """An operation and its progress."""

    id: str
    kind: Literal["backfill"]
    pattern: str
    version: int
    state: Literal["queued", "running", "cancelling", "done", "failed", "cancelled"]
    created_at: datetime
    updated_at: datetime | None
    slices_done: int
    slices: int
    edges: int
    matches: int
    edges_per_second: float
    reason: str | None

    @staticmethod
    def of(operation: Operation) -> OperationOut:
        """Return an operation as it is shown."""
        asked, said = operation.asked, operation.status
        return OperationOut.model_validate(
            {
                "id": asked.id,
                "kind": asked.kind,
                "pattern": asked.pattern,
                "version": asked.version,
                "state": operation.state,
                "created_at": asked.created_at,
                "updated_at": said.at if said is not None else None,
                "slices_done": said.slices_done if said is not None else 0,
                "slices": said.slices if said is not None else 0,
                "edges": said.edges if said is not None else 0,
                "matches": said.matches if said is not None else 0,
                "edges_per_second": said.edges_per_second if said is not None else 0.0,
                "reason": said.reason if said is not None else None,
            }
        )


class OperationsOut(BaseModel):
    """Operations, the newest first."""

    operations: list[OperationOut]


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["operations"], route_class=JsonRoute)
    reads, writes = [Depends(parts.requires(READ_PATTERNS))], [Depends(parts.requires(WRITE_PATTERNS))]

    @routes.post("/patterns/{name}:backfill", status_code=202, dependencies=[Depends(parts.rights.of_pattern(WRITE_PATTERNS))])
    def backfill_pattern(name: str, wanted: BackfillIn, response: Response) -> OperationOut:
        """Find the matches of a pattern in its stream's history; they are reported beside the others, marked as backfilled."""
        record, _ = parts.patterns.get(name)
        check_engine(wanted.engine, read(record.text))
        found = parts.operations.backfill(record, wanted.start, wanted.end, wanted.engine)
        response.headers["Location"] = f"/api/v1/operations/{found.asked.id}"
        return OperationOut.of(found)

    @routes.get("/operations", dependencies=reads)
    def list_operations() -> OperationsOut:
        """Return all known operations."""
        return OperationsOut(operations=[OperationOut.of(each) for each in parts.operations.all()])

    @routes.get("/operations/{id}", dependencies=reads)
    def get_operation(id: str) -> OperationOut:
        """Return an operation and its progress."""
        return OperationOut.of(parts.operations.get(id))

    @routes.delete("/operations/{id}", status_code=202, dependencies=writes)
    def cancel_operation(id: str) -> OperationOut:
        """Cancel an operation; reported matches stay."""
        return OperationOut.of(parts.operations.cancel(id))

    return routes
