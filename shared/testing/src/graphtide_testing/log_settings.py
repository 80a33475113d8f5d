"""A pytest plugin that undoes what a test sets of logging: the next one in its process logs as if it were the first."""

from __future__ import annotations

import pytest
import structlog


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Forget settings, such as those of a program that the test ran."""
    if structlog.is_configured():
        structlog.reset_defaults()
