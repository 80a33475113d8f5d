"""Fits the documentation of the repository to a site: README and the change log are pages, and links lead to pages.

MkDocs calls these functions. A link to a file of the repository that is no page becomes its text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Files of the repository that are pages, beside those of `docs`."""

_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
_FENCE: Final = re.compile(r"^(`{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in `docs`."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - only MkDocs has it

    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the text of a page with its links led to pages."""
    del config
    name = page.file.src_uri
    source = next((given for given, made in PAGES.items() if made == name), f"docs/{name}")
    known = {file.src_uri for file in files}
    return lead_links(markdown, source, name, known)


def lead_links(markdown: str, source: str, page: str, known: set[str]) -> str:
    """Return a text whose links go from a page of the site to others.

    Args:
        markdown: the text.
        source: its file in the repository.
        page: its file in the site.
        known: all files of the site.
    """
    fences = [found.span() for found in _FENCE.finditer(markdown)]

    def lead(found: re.Match[str]) -> str:
        mark, text, target = found.groups()
        if "://" in target or target.startswith(("#", "mailto:")) or any(a <= found.start() < b for a, b in fences):
            return found[0]
        path, _, anchor = target.partition("#")
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        led = PAGES.get(file) or (file.removeprefix("docs/") if file.startswith("docs/") else None)
        if led is None or led not in known:
            return text
        relative = posixpath.relpath(led, posixpath.dirname(page) or ".")
        return f"{mark}[{text}]({relative}{f'#{anchor}' if anchor else ''})"

    return _LINK.sub(lead, markdown)
