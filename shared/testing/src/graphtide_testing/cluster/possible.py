"""Whether this machine can run the pods of a cluster as processes: with namespaces of their own, over layers of files."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from graphtide_testing.cluster.network import apart
from graphtide_testing.images import sandbox

_PROGRAMS: Final = ("ip", "nsenter")


def why_not() -> str | None:
    """Return why it cannot; None if it can."""
    if (reason := sandbox.why_not()) is not None:
        return reason
    missing = [each for each in _PROGRAMS if shutil.which(each) is None]
    if missing:
        return f"missing: {', '.join(missing)} (Debian: iproute2, util-linux)"
    tried = subprocess.run(apart(["ip", "netns", "add", "tried"]), capture_output=True, text=True, check=False)  # noqa: S603 - of our own parts
    if tried.returncode != 0:
        return f"no namespaces of network and processes are to be had: {tried.stderr.strip()}"
    with tempfile.TemporaryDirectory(prefix="graphtide-layers-") as folder:
        reason = sandbox.overlays_in(Path(folder))
    return None if reason is None else f"no overlays are to be had: {reason}"
