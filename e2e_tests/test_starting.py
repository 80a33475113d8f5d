"""How services start: in one thread and with one arena, so that they stay small, and without large libraries."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SERVICES = (
    "admin_api",
    "alerts",
    "ingestion",
    "matcher_algebra",
    "matcher_event_pattern",
    "matcher_simulation",
    "matcher_sjtree",
    "matcher_timing",
    "planner",
    "statistics",
)

STARTED = """
import ctypes, importlib, json, sys
importlib.import_module(sys.argv[1])
large = [name for name in ("numpy", "pandas", "pyarrow", "pyspark") if name in sys.modules]
library = ctypes.CDLL(None)
library.fopen.restype = ctypes.c_void_p
opened = ctypes.c_void_p(library.fopen(sys.argv[2].encode(), b"w"))
library.malloc_info(0, opened)
library.fclose(opened)
with open(sys.argv[2]) as arenas:
    print(json.dumps([large, arenas.read().count("<heap nr")]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc reports its arenas")
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_has_one_arena_and_no_large_library(service: str, tmp_path: Path) -> None:
    program = [sys.executable, "-c", STARTED, f"graphtide_{service}.__main__", str(tmp_path / "arenas")]
    assert json.loads(subprocess.run(program, capture_output=True, text=True, check=True).stdout) == [[], 1]


PAUSED = """
import os, runpy, sys, time
from importlib.abc import MetaPathFinder

class Paused(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "graphtide_telemetry":
            os.write(1, b"importing")
            # In short sleeps: a signal just before a sleep waits for its end.
            for _ in range(6000):
                time.sleep(0.01)

sys.meta_path.insert(0, Paused())
package = sys.argv.pop(1)
runpy.run_module(package, run_name="__main__")
"""
"""A service, which stops for long where it imports a module that all of them need."""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("service", [*SERVICES, "backfill", "preprocess"])
def test_a_signal_during_the_start_ends_a_service_without_a_word(service: str, number: int, status: int) -> None:
    program = [sys.executable, "-c", PAUSED, f"graphtide_{service}"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.read(9) == b"importing"
            process.send_signal(number)
            assert process.wait(60) == status
            assert process.stderr.read() == b""
        finally:
            process.kill()
