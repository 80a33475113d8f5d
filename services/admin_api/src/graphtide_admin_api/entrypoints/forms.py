"""Bodies of requests."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from graphtide_query.families import AUTO, VARIANTS
from graphtide_serving.described import described_by
from graphtide_wire.bodies import patterns
from graphtide_wire.control import LimitsForm
from graphtide_wire.stream_schema import LONGEST_ATTRIBUTE, MOST_ATTRIBUTES
from pydantic import BaseModel, ConfigDict, Field, field_validator

from graphtide_admin_api.domain.registration import MOST_TEXT, PatternRequest
from graphtide_admin_api.entrypoints.parameters import MOST

_Count = Annotated[int, Field(ge=0, le=MOST)]
Text = Annotated[str, Field(max_length=MOST_TEXT, description="A pattern in the pattern language.")]
State = Literal["active", "paused"]
Engine = Annotated[str, Field(json_schema_extra={"enum": [AUTO, *VARIANTS]})]
"""The name of an engine; another is refused as an unknown engine."""

TEXT: Final = "PATTERN fan_out MATCH (a)-[x:http]->(b), (a)-[y:http]->(c) ORDER x < y ON flows WINDOW 10s"
"""A pattern in examples."""

STATEMENT: Final = "STREAM flows EDGE (src)-['flow']->(dst) AT ts IN s"
"""A statement in examples."""


def like(*examples: dict[str, Any]) -> ConfigDict:
    """Return the configuration of a model that the description shows such examples of."""
    return ConfigDict(json_schema_extra={"examples": list(examples)})


class Strict(BaseModel):
    """A body as it is described: nothing unknown, and no value of another type, such as `true` for 1.

    As in JSON Schema, 1.0 is an integer.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    @field_validator("*", mode="before")
    @classmethod
    def _whole(cls, value: object) -> object:
        return int(value) if isinstance(value, float) and value.is_integer() else value


class Limits(Strict):
    """Bounds on a pattern's state and work; null is the service's default.

    `work` counts steps a record of the stream, on average. At a bound the pattern fails, is paused, or sheds matches.
    """

    partial_matches: _Count | None = None
    state_bytes: _Count | None = None
    policy: Literal["fail", "pause", "shed"] = "fail"
    work: Annotated[int, Field(ge=1, le=MOST)] | None = None

    def form(self) -> LimitsForm:
        """Return them as records carry them."""
        return LimitsForm(
            self.partial_matches, self.state_bytes, self.policy, msgspec.UNSET if self.work is None else self.work
        )


described_by(patterns.Limits, Limits)


class PatternIn(Strict):
    """A pattern to register."""

    model_config = like(
        {"text": TEXT}, {"text": TEXT, "engine": "auto", "limits": {"partial_matches": 10_000, "policy": "pause"}}
    )

    text: Text
    engine: Engine = AUTO
    limits: Limits = Field(default_factory=Limits)
    state: State = "active"

    def request(self) -> PatternRequest:
        """Return what is asked."""
        return PatternRequest(self.text, self.limits.form(), self.engine, self.state)


class PatternChange(Strict):
    """Changes of a pattern; members that are left out stay."""

    model_config = like({"limits": {"state_bytes": 1_048_576, "policy": "shed"}}, {"state": "paused"})

    text: Text | None = None
    engine: Engine | None = None
    limits: Limits | None = None
    state: State | None = None

    def request(self) -> PatternRequest:
        """Return what is asked."""
        return PatternRequest(self.text, self.limits.form() if self.limits is not None else None, self.engine, self.state)


class TextIn(Strict):
    """A text to validate."""

    model_config = like({"text": TEXT})

    text: Text


class StatementIn(Strict):
    """A STREAM statement to register."""

    model_config = like({"text": STATEMENT})

    text: Annotated[str, Field(max_length=MOST_TEXT, description="A STREAM statement.")]


class SchemaIn(Strict):
    """Types by the names of attributes; they take the place of those that were declared before."""

    model_config = like({"attributes": {"zip": "string", "amount": "number"}})

    attributes: Annotated[
        dict[
            Annotated[str, Field(min_length=1, max_length=LONGEST_ATTRIBUTE)], Literal["string", "integer", "number", "boolean"]
        ],
        Field(max_length=MOST_ATTRIBUTES),
    ]
