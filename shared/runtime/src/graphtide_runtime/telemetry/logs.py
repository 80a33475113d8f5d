"""How logs look: one JSON object a line for machines, columns for people; always on standard error, which is not for data."""

from __future__ import annotations

import logging
import sys

import structlog


def to_standard_error(*, least: int = logging.INFO) -> None:
    """Let every log of this process go to standard error, from a level of `logging` on; called once, by who starts it."""
    for_people = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer() if for_people else structlog.processors.JSONRenderer(sort_keys=True),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
