"""What a builder of images is given: the files of a folder that its `.dockerignore` lets through."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Context:
    """A folder with a `.dockerignore`: of the patterns that match a path or a folder above it, the last decides."""

    def __init__(self, folder: Path) -> None:
        """Read the patterns."""
        self.folder = folder
        lines = (each.strip() for each in (folder / ".dockerignore").read_text("utf-8").splitlines())
        self._rules = [
            (not line.startswith("!"), _pattern(line.removeprefix("!").strip("/")))
            for line in lines
            if line and not line.startswith("#")
        ]

    def files(self, at: str = "") -> Iterator[str]:
        """Yield the paths of all files, links included, that get through: relative to the folder, below one path of it."""
        start = self.folder / at
        if start.is_file():
            if self._passes(at):
                yield at
            return
        for place, folders, names in os.walk(start):
            # Whole folders of builds, which nothing lets through again.
            folders[:] = sorted(each for each in folders if each not in {".venv", ".git", "target", ".cache", "node_modules"})
            links = [each for each in folders if Path(place, each).is_symlink()]
            for name in sorted([*names, *links]):
                path = os.path.relpath(Path(place, name), self.folder)
                if self._passes(path):
                    yield path

    def _passes(self, path: str) -> bool:
        parts = path.split("/")
        above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        ignored = False
        for ignores, pattern in self._rules:
            if any(pattern.fullmatch(each) for each in above):
                ignored = ignores
        return not ignored


def _pattern(text: str) -> re.Pattern[str]:
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile(re.sub(r"\*\*/|\*\*|\*|\?|[^*?]+", lambda found: meaning.get(found[0], re.escape(found[0])), text))
