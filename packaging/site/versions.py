"""Lists the versions of a site that has a folder for each: `versions.json`, which the version switch of the theme reads.

Run as `python packaging/site/versions.py SITE`. The first page of the site leads to the newest version.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Final

_VERSION: Final = re.compile(r"\d+(?:\.\d+)*(?:[-.]?(?:a|alpha|b|beta|rc|dev)[\w.]*)?")
_FIRST_PAGE: Final = """<!doctype html>
<meta charset="utf-8">
<title>graphtide</title>
<meta http-equiv="refresh" content="0; url={version}/index.html">
<a href="{version}/index.html">graphtide {version}</a>
"""


def write_versions(site: Path) -> list[str]:
    """Write the list of versions and the first page, and return the versions, newest first.

    Raises:
        ValueError: the site has no version.
    """
    pages = (page.parent.name for page in site.glob("*/index.html"))
    versions = sorted(filter(_VERSION.fullmatch, pages), key=_age, reverse=True)
    if not versions:
        message = f"{site} has no folder of a version with an index.html. Run make docs"
        raise ValueError(message)
    listed = [{"version": each, "title": each, "aliases": []} for each in versions]
    (site / "versions.json").write_text(json.dumps(listed, indent=2) + "\n", "utf-8")
    (site / "index.html").write_text(_FIRST_PAGE.format(version=versions[0]), "utf-8")
    return versions


def _age(version: str) -> tuple[tuple[int, ...], bool, str]:
    """Return what orders versions: by their numbers, and a release after its candidates."""
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    digits = numbers[0] if numbers else ""
    suffix = version.removeprefix(digits)
    return tuple(map(int, digits.split("."))), not suffix, suffix


if __name__ == "__main__":
    write_versions(Path(sys.argv[1]))
