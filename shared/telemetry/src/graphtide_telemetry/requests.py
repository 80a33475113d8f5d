"""Telemetry of requests in every HTTP service: FastAPI's own spans and metrics, which continue the caller's trace.

They follow the conventions of OpenTelemetry; their names are in the registry for the documentation's sake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi.telemetry import TelemetryConfig

_HEALTH: Final = frozenset({"/livez", "/readyz", "/metrics"})


def _is_health(scope: Mapping[str, object]) -> bool:
    """Return whether it is asked every few seconds for ever: such requests do not belong in traces."""
    return scope.get("path") in _HEALTH


REQUESTS: Final[TelemetryConfig] = {"operation_spans": False, "logs": False, "exclude": _is_health}
"""Telemetry of an application: a span and its time for each request, no spans within, and no logs, which are ours."""
