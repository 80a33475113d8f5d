"""What a service asks of the C library's allocator, so that it stays as small as what it holds.

glibc gives a new thread an arena of its own, of up to eight a core, and keeps what is freed in an arena below something that
is still held. It also learns to take ever larger blocks from arenas. Clients of the log have threads of their own and are
opened again when the log was away, patterns come with much state and go: what they leave behind would pile up in one arena
after the other. In one arena the next takes what the last has left, and large blocks go back to the system by themselves.
"""

from __future__ import annotations

import ctypes
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_MIB: Final = 1 << 20


def stay_small() -> None:
    """Let all threads share an arena, and blocks of a MiB have pages of their own.

    Call it before anything is imported that starts threads: an arena stays. Python and the engines seldom allocate side by
    side: the one holds a lock, the others keep what they have.
    """
    tune = getattr(ctypes.CDLL(None), "mallopt", None)
    if tune is None:
        return
    for parameter, value in ((_M_ARENA_MAX, 1), (_M_MMAP_THRESHOLD, _MIB), (_M_TRIM_THRESHOLD, 8 * _MIB)):
        tune(parameter, value)


def give_back() -> None:
    """Give back what was freed, where the C library can; takes milliseconds."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
