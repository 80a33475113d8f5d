"""Settings of telemetry beside the `OTEL_*` variables, which hold as OpenTelemetry defines them."""

from __future__ import annotations

from pydantic import BaseModel, Field


class TelemetrySettings(BaseModel):
    """Settings of telemetry.

    Attributes:
        trace_ratio: share of requests without a `traceparent` that are traced; `OTEL_TRACES_SAMPLER` overrides it.
    """

    trace_ratio: float = Field(default=0.01, ge=0, le=1)
