"""`python -m graphtide.dev.description FILE` writes the description of the whole API, which the documentation holds."""

from __future__ import annotations

import sys
from pathlib import Path

from graphtide.dev.deployment import description

if __name__ == "__main__":
    Path(sys.argv[1]).write_text(description(), "utf-8")
