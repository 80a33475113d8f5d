"""What a service asks of the C library's allocator, so that it stays small whatever opens again under it.

glibc gives a new thread an arena of its own, of up to eight a core, and keeps what is freed in an arena below something that
is still held. Clients of the log have threads of their own and are opened again when the log was away: what they leave behind
would pile up in one arena after the other. Where threads share an arena, the next client takes what the last has left.
"""

from __future__ import annotations

import ctypes
from typing import Final

_M_ARENA_MAX: Final = -8


def share_one_arena() -> None:
    """Let all threads share an arena, where the C library has several; call it before there are threads.

    Python and the engines seldom allocate side by side: the one holds a lock, the others keep what they have.
    """
    tune = getattr(ctypes.CDLL(None), "mallopt", None)
    if tune is not None:
        tune(_M_ARENA_MAX, 1)


def give_back() -> None:
    """Give back what was freed, where the C library can; takes milliseconds. A worker that opened has read topics whole."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
