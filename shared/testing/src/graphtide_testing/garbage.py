"""A pytest plugin that lets Python's garbage collector look seldom, and never again at what is there before the first test.

Modules and thousands of collected tests live until the end. To look at them again and again takes a tenth of the processor time
of a run. Tests that need a collection ask for one.
"""

from __future__ import annotations

import gc
from typing import Final

_OBJECTS_BETWEEN_COLLECTIONS: Final = (50_000, 20, 50)


def pytest_configure() -> None:
    """Let new objects become many before they are looked at."""
    gc.set_threshold(*_OBJECTS_BETWEEN_COLLECTIONS)


def pytest_collection_finish() -> None:
    """Look at what was made until now for the last time."""
    gc.collect()
    gc.freeze()
