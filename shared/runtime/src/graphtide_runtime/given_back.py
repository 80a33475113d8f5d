"""Giving freed memory back to the system.

glibc keeps what is freed below something that is still held, in an arena for each of a few threads. A worker that opens reads
topics whole, with clients that have threads of their own: without this, a process would stay as large as its largest opening.
"""

from __future__ import annotations

import ctypes


def give_back() -> None:
    """Give back what was freed, where the C library can; takes milliseconds."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
