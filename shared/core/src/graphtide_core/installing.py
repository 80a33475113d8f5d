"""The line that installs what a part of graphtide needs, where the user is: in a checkout, or with wheels."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_LEVELS: Final = 4
"""From this file to the folder of a checkout: package, `src`, `core`, `shared`."""


def line_for(extra: str, *, upgrade: bool = False, here: Path | None = None) -> str:
    """Return what to type to get the libraries of an extra; `here` is this file, or another for tests."""
    root = (here or Path(__file__)).resolve().parents[_LEVELS]
    if (root / "Makefile").is_file() and (root / "shared" / "core").is_dir():
        return f"make -C {root} setup"
    return f"pip install {'--upgrade ' if upgrade else ''}'graphtide[{extra}]'"
