"""Pages for people among the paths of a service.

They hold no data, so everyone may load them, and links of other sites may lead to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.types import Scope

PAGES: Final = "/console"
"""The path below which a service has pages."""


def is_page(path: str) -> bool:
    """Return whether a path is that of a page or of a file that pages load."""
    return path == PAGES or path.startswith(f"{PAGES}/")


def is_visit(scope: Scope, headers: Headers) -> bool:
    """Return whether a browser shows a page as a document of its own, by a link or a log-in of another site.

    A frame of another site is no visit.
    """
    return (
        scope["method"] in {"GET", "HEAD"}
        and is_page(scope["path"])
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )
