"""How services start: in one thread, so that what their allocator is asked holds, and without large libraries."""

from __future__ import annotations

import subprocess
import sys

import pytest

SERVICES = ("admin_api", "ingestion", "matcher_sjtree", "matcher_timing", "planner", "statistics")

STARTED = """
import importlib, json, os, sys
importlib.import_module(sys.argv[1])
large = [name for name in ("numpy", "pandas", "pyarrow", "pyspark") if name in sys.modules]
print(json.dumps([large, len(os.listdir("/proc/self/task"))]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted as Linux tells of them")
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_one_thread_until_it_runs_and_loads_no_large_library(service: str) -> None:
    program = [sys.executable, "-c", STARTED, f"graphtide_{service}.__main__"]
    assert subprocess.run(program, capture_output=True, text=True, check=True).stdout == "[[], 1]\n"
