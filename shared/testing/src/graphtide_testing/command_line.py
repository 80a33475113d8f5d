"""What the command line finds, to compare with what the services find."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def by_command_line(folder: Path, patterns: str, stream: Path) -> Counter[str]:
    """Return the ids of the matches that `graphtide match` finds in a file; `---` may stand between patterns."""
    text = folder / "patterns.gtp"
    text.write_text(patterns.replace("---", ""))
    command = [sys.executable, "-m", "graphtide", "match", str(text), str(stream)]
    found = subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603 - our own program
    return ids(found.splitlines())


def ids(records: Iterable[bytes]) -> Counter[str]:
    """Return the ids of match records."""
    return Counter(json.loads(record)["match_id"] for record in records)
