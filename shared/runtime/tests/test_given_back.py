"""What was freed goes back to the system, though something above it is still held."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

MEASURED = """
from pathlib import Path
from graphtide_runtime.given_back import give_back

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

held = [bytes(2_000) for _ in range(50_000)]
del held[:-1]
kept = resident()
give_back()
print(kept - resident())
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library keeps what it keeps")
def test_freed_memory_below_what_is_held_is_given_back() -> None:
    given = subprocess.run([sys.executable, "-c", MEASURED], capture_output=True, text=True, check=True).stdout
    assert int(given) > 80_000_000
