"""A pytest plugin for one trial: run the chosen tests alone, quickest first, and write down how long each took.

`-p graphtide_testing.mutation.chosen_tests`, with a file of JSON for each direction, named by the environment. Where a chosen
test is not collected (the change under trial took it away or renamed it), all collected tests run.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pytest

CHOSEN: Final = "GRAPHTIDE_MUTATION_CHOSEN"
"""Names the file with the ids of the tests to run, in order."""
SECONDS: Final = "GRAPHTIDE_MUTATION_SECONDS"
"""Names the file to write: seconds by the test's id."""

_SECONDS: Final[dict[str, float]] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the chosen tests, in their order."""
    if (file := os.environ.get(CHOSEN)) is None:
        return
    place = {test: at for at, test in enumerate(json.loads(Path(file).read_text()))}
    chosen = [item for item in items if item.nodeid in place]
    if len(chosen) < len(place):
        return
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in place])
    items[:] = sorted(chosen, key=lambda item: place[item.nodeid])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the phases of each test."""
    _SECONDS[report.nodeid] = _SECONDS.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish() -> None:
    """Write what was measured, if the environment names a file for it."""
    if (file := os.environ.get(SECONDS)) is not None:
        Path(file).write_text(json.dumps(_SECONDS))
