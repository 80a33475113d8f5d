"""How services start: in one thread and with one arena, so that they stay small, and without large libraries."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SERVICES = ("admin_api", "ingestion", "matcher_sjtree", "matcher_timing", "planner", "statistics")

STARTED = """
import ctypes, importlib, json, sys
importlib.import_module(sys.argv[1])
large = [name for name in ("numpy", "pandas", "pyarrow", "pyspark") if name in sys.modules]
library = ctypes.CDLL(None)
library.fopen.restype = ctypes.c_void_p
opened = ctypes.c_void_p(library.fopen(sys.argv[2].encode(), b"w"))
library.malloc_info(0, opened)
library.fclose(opened)
with open(sys.argv[2]) as told:
    print(json.dumps([large, told.read().count("<heap nr")]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it is glibc that tells of its arenas")
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_has_one_arena_and_no_large_library(service: str, tmp_path: Path) -> None:
    program = [sys.executable, "-c", STARTED, f"graphtide_{service}.__main__", str(tmp_path / "arenas")]
    assert json.loads(subprocess.run(program, capture_output=True, text=True, check=True).stdout) == [[], 1]
