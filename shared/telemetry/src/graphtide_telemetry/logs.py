"""The form of logs: one JSON object a line for machines, columns for people; always on standard error, which is not for data.

Inside a span an event has its id. Where a logger provider is set up, events go out as logs of OpenTelemetry, too.
"""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING, Final

import structlog
from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber, get_logger

from graphtide_telemetry.attributes import SPAN_ID, TRACE_ID

if TYPE_CHECKING:
    from structlog.typing import EventDict, WrappedLogger

_SEVERITIES: Final = {
    "debug": SeverityNumber.DEBUG,
    "info": SeverityNumber.INFO,
    "warning": SeverityNumber.WARN,
    "error": SeverityNumber.ERROR,
    "critical": SeverityNumber.FATAL,
}
_OWN: Final = frozenset({"event", "level", "timestamp"})


def to_standard_error(*, least: int = logging.INFO) -> None:
    """Let every log of this process go to standard error, from a level of `logging` on; called once, at its start."""
    for_people = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            with_span,
            handed_on,
            structlog.dev.ConsoleRenderer() if for_people else structlog.processors.JSONRenderer(sort_keys=True),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        # A line is written at once: threads write side by side.
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def with_span(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Add the ids of the current span, if there is one."""
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        event[TRACE_ID] = f"{context.trace_id:032x}"
        event[SPAN_ID] = f"{context.span_id:016x}"
    return event


def handed_on(_: WrappedLogger, level: str, event: EventDict) -> EventDict:
    """Hand the event to OpenTelemetry, which ignores it unless a provider is set up."""
    attributes = {str(name): _value(value) for name, value in event.items() if name not in _OWN | {TRACE_ID, SPAN_ID}}
    get_logger("graphtide").emit(
        LogRecord(
            timestamp=time.time_ns(),
            severity_text=level,
            severity_number=_SEVERITIES.get(level, SeverityNumber.UNSPECIFIED),
            body=str(event.get("event", "")),
            attributes=attributes,
            event_name=str(event.get("event", "")),
        )
    )
    return event


def _value(value: object) -> str | bool | int | float:
    return value if isinstance(value, str | bool | int | float) else str(value)
