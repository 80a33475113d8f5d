"""Routes to try statements of streams before they are registered, and the statements that come with graphtide."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Depends
from graphtide_query import presets
from graphtide_serving.access.rights import READ_PATTERNS
from graphtide_serving.routes import JsonRoute
from pydantic import BaseModel, Field

from graphtide_admin_api.domain.problems import ProblemError
from graphtide_admin_api.domain.registration import MOST_TEXT
from graphtide_admin_api.domain.sample import MOST_SAMPLE, Sampled, read_sample, shorten
from graphtide_admin_api.domain.statement import read_any_statement
from graphtide_admin_api.entrypoints.answers import Flaw
from graphtide_admin_api.entrypoints.forms import STATEMENT, Strict, like
from graphtide_admin_api.entrypoints.parts import Parts

_SAMPLE: Final = '{"ts": 1704067200, "src": "10.0.0.7", "dst": "203.0.113.1"}\n'


class SampleIn(Strict):
    """A STREAM statement, and records to read by it."""

    model_config = like({"text": STATEMENT, "sample": _SAMPLE})

    text: Annotated[str, Field(max_length=MOST_TEXT, description="A STREAM statement.")]
    sample: Annotated[
        str, Field(max_length=MOST_SAMPLE, description="Records as the statement says, else JSON Lines or CSV with a header.")
    ]


class SampleEdge(BaseModel):
    """An edge, an event or a deletion that a record gives, as texts; `record` counts the records of the sample from 1."""

    record: int
    time: str
    id: str
    drawn: str
    attributes: list[str]


class RejectedRecord(BaseModel):
    """A record that could not be used, by its line."""

    line: int
    reason: str
    raw: str


class RejectedRecords(BaseModel):
    """How many records could not be used, and the first of them."""

    count: int = 0
    examples: list[RejectedRecord] = Field(default_factory=list)


class CheckedStatement(BaseModel):
    """Whether a statement is valid, and what it makes of the sample; `shown` has the first ten edges and events."""

    model_config = like(
        {
            "valid": True,
            "error": None,
            "records": 1,
            "given": 1,
            "filtered": 0,
            "shown": [
                {
                    "record": 1,
                    "time": "2024-01-01T00:00:00Z",
                    "id": "0",
                    "drawn": "(10.0.0.7)-[flow]->(203.0.113.1)",
                    "attributes": [],
                }
            ],
            "rejected": {"count": 0, "examples": []},
        }
    )

    valid: bool
    error: Flaw | None = None
    records: int = 0
    given: int = 0
    filtered: int = 0
    shown: list[SampleEdge] = Field(default_factory=list)
    rejected: RejectedRecords = Field(default_factory=RejectedRecords)

    @classmethod
    def of(cls, found: Sampled) -> CheckedStatement:
        """Return what was found."""
        flaws = [RejectedRecord(line=each.line, reason=each.reason, raw=shorten(each.raw)) for each in found.flaws]
        return cls(
            valid=True,
            records=found.records,
            given=found.given,
            filtered=found.filtered,
            shown=[
                SampleEdge(record=each.record, time=each.time, id=each.id, drawn=each.drawn, attributes=list(each.attributes))
                for each in found.shown
            ],
            rejected=RejectedRecords(count=found.rejected, examples=flaws),
        )


class Preset(BaseModel):
    """A statement for records that many people have, and a pattern to begin with."""

    name: str
    title: str
    text: str
    pattern: str


class PresetsOut(BaseModel):
    """The statements that come with graphtide, by their names."""

    presets: list[Preset]


def router(parts: Parts) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["streams"], route_class=JsonRoute)
    reads = [Depends(parts.rights.some(READ_PATTERNS))]

    @routes.post("/streams:check", dependencies=reads)
    def check_statement(given: SampleIn) -> CheckedStatement:
        """Say whether a STREAM statement is valid, and show what it makes of a few records; nothing is registered."""
        try:
            definition = read_any_statement(given.text)
        except ProblemError as error:
            return CheckedStatement(valid=False, error=Flaw.model_validate({"detail": error.detail, **error.extra}))
        return CheckedStatement.of(read_sample(definition, given.sample))

    @routes.get("/presets", dependencies=reads)
    def list_presets() -> PresetsOut:
        """Return the statements that come with graphtide, each with a pattern over it."""
        return PresetsOut(
            presets=[
                Preset(
                    name=each,
                    title=presets.describe_preset(each),
                    text=presets.read_preset(each),
                    pattern=presets.read_preset_pattern(each),
                )
                for each in presets.preset_names()
            ]
        )

    return routes
