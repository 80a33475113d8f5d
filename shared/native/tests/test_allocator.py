"""What was freed goes back to the system, though something above it is still held; threads have one arena."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

GIVEN_BACK = """
from pathlib import Path
from graphtide_native.allocator import give_back

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

held = [bytes(2_000) for _ in range(50_000)]
del held[:-1]
kept = resident()
give_back()
print(kept - resident())
"""

ARENAS = """
import sys
import threading
from pathlib import Path
from graphtide_native.allocator import stay_small

if sys.argv[1] == "one":
    stay_small()
inside, over = threading.Barrier(5), threading.Event()

def hold():
    held = [bytes(2_000) for _ in range(1_000)]
    inside.wait()
    over.wait()

threads = [threading.Thread(target=hold) for _ in range(4)]
for thread in threads:
    thread.start()
inside.wait()
# An arena of a thread begins at a multiple of 64 MiB, and is a mapping of its own.
starts = [int(line.split("-")[0], 16) for line in Path("/proc/self/maps").read_text().splitlines() if line.split()[1] == "rw-p"]
print(sum(start % (64 << 20) == 0 for start in starts))
over.set()
"""

AGAIN = """
import resource
import sys
from graphtide_native.allocator import keep_pages

if sys.argv[1] == "kept":
    keep_pages()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    # Pages come with the first bytes that are written to them.
    held = [bytearray(b"x") * (4 << 20) for _ in range(8)]
    del held
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""

needs_glibc = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library keeps what it keeps")


def run_and_read(program: str, *arguments: str) -> int:
    return int(subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True).stdout)


@needs_glibc
def test_freed_memory_below_what_is_held_is_given_back() -> None:
    assert run_and_read(GIVEN_BACK) > 80_000_000


@needs_glibc
def test_threads_share_an_arena() -> None:
    assert run_and_read(ARENAS, "one") == 0
    assert run_and_read(ARENAS, "many") > 0


@needs_glibc
def test_blocks_that_were_freed_are_taken_again_without_a_fault_for_each_of_their_pages() -> None:
    assert run_and_read(AGAIN, "kept") * 4 < run_and_read(AGAIN, "as it is")
