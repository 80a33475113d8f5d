"""Options of the C library's allocator: a service stays as small as its state, a run over a file is fast.

glibc gives a new thread an arena of its own, of up to eight a core. It keeps what is freed in an arena below something that is
still held. It also learns to take ever larger blocks from arenas. Clients of the log have threads of their own and are opened
again when the log was away; patterns come with much state and go. What they leave behind would pile up in one arena after the
other. In one arena the next takes what the last has left, and large blocks go back to the system by themselves. A run over a
file takes and frees blocks of the same sizes all the time. Pages that went back to the system in between would come again one
fault at a time.
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
    _tune({_M_ARENA_MAX: 1, _M_MMAP_THRESHOLD: _MIB, _M_TRIM_THRESHOLD: 8 * _MIB})


def keep_pages() -> None:
    """Let freed memory stay with the process, up to 256 MiB of it; only blocks of more than 32 MiB have pages of their own."""
    _tune({_M_MMAP_THRESHOLD: 32 * _MIB, _M_TRIM_THRESHOLD: 256 * _MIB})


def give_back() -> None:
    """Give back what was freed, where the C library can; takes milliseconds."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _tune(values: dict[int, int]) -> None:
    tune = getattr(ctypes.CDLL(None), "mallopt", None)
    if tune is not None:
        for parameter, value in values.items():
            tune(parameter, value)
