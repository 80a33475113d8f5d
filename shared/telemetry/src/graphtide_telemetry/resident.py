"""How much memory this process has in RAM."""

from __future__ import annotations

import resource
from pathlib import Path


def resident_bytes() -> int:
    """Return the bytes; elsewhere than on Linux the most that there were at once."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return pages * resource.getpagesize()
