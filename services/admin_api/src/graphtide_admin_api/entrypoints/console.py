"""The console's files, and what the console must know before anybody logs in.

`make console` builds the files from `services/console`. They are few and stay the same while the service runs, so all are in
memory, compressed once. A path that names no file is an address of the console itself, and gets its page.
"""

from __future__ import annotations

import gzip
import json
import mimetypes
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from graphtide_serving.pages import PAGES
from graphtide_telemetry.version import version_of
from starlette.responses import RedirectResponse, Response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI
    from graphtide_core.time import TimeUnit
    from starlette.requests import Request

FILES: Final = Path(__file__).parent.parent / "console_files"
"""Where the build of the console leaves its files."""

_INDEX: Final = "index.html"
_NOT_BUILT: Final = b"""<!doctype html><html lang="en"><title>graphtide</title>
<p>The console is not part of this installation. In a checkout, build it with <code>make console</code>, and start again.</p>
"""
_FOREVER: Final = "public, max-age=31536000, immutable"
_LEAST_COMPRESSED: Final = 1024


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """What the console reads at its start.

    Attributes:
        unit: of the times of streams.
        asks_for_login: whether callers must show who they are.
        issuer: address of the identity provider that people log in at; None if there is none.
        client_id: of the console at that provider.
        scope: that it asks for there.
    """

    unit: TimeUnit
    asks_for_login: bool
    issuer: str | None = None
    client_id: str | None = None
    scope: str = "openid"

    def document(self) -> bytes:
        """Return it as the console reads it."""
        provider = None
        if self.issuer is not None and self.client_id is not None:
            provider = {"issuer": self.issuer, "client_id": self.client_id, "scope": self.scope}
        document = {
            "version": version_of("graphtide-admin-api"),
            "unit": self.unit.value,
            "asks_for_login": self.asks_for_login,
            "oidc": provider,
        }
        return json.dumps(document).encode()

    def policy(self) -> str:
        """Return the Content-Security-Policy of the console.

        It loads nothing from elsewhere and runs no script that stands in a page, and no other page may frame it. It asks the
        identity provider for tokens, if there is one.
        """
        asked = ["'self'"]
        if self.issuer is not None and self.client_id is not None:
            parts = urlsplit(self.issuer)
            asked.append(f"{parts.scheme}://{parts.netloc}")
        return (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
            f"connect-src {' '.join(asked)}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        )


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    compressed: bytes | None
    media_type: str
    is_hashed: bool


def serve_console(app: FastAPI, settings: ConsoleSettings, files: Path = FILES) -> None:
    """Let an application serve the console below `PAGES`; without built files, a page that says how to build them."""
    found = _files_in(files)
    headers = {
        "Content-Security-Policy": settings.policy(),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    }
    document = settings.document()

    async def to_index(_: Request) -> Response:
        return RedirectResponse(f"{PAGES}/", HTTPStatus.PERMANENT_REDIRECT)

    async def configuration(_: Request) -> Response:
        return Response(document, media_type="application/json", headers={"Cache-Control": "no-store", **headers})

    async def page(request: Request) -> Response:
        path = request.path_params["path"]
        file = found.get(path)
        if file is None and path.startswith("assets/"):
            return Response(b"no such file", HTTPStatus.NOT_FOUND, headers, "text/plain")
        file = file or found.get(_INDEX)
        if file is None:
            return Response(_NOT_BUILT, HTTPStatus.NOT_FOUND, headers, "text/html")
        return _answer(file, request, headers)

    app.router.add_route(PAGES, to_index, ["GET"], include_in_schema=False)
    app.router.add_route(f"{PAGES}/config.json", configuration, ["GET"], include_in_schema=False)
    app.router.add_route(f"{PAGES}/{{path:path}}", page, ["GET"], include_in_schema=False)


def _answer(file: _File, request: Request, headers: Mapping[str, str]) -> Response:
    own = {**headers, "Cache-Control": _FOREVER if file.is_hashed else "no-cache", "Vary": "Accept-Encoding"}
    content = file.content
    if file.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        content, own["Content-Encoding"] = file.compressed, "gzip"
    return Response(content, media_type=file.media_type, headers=own)


def _files_in(folder: Path) -> dict[str, _File]:
    """Return all files of a folder by their paths; names of assets have a hash of their content."""
    if not folder.is_dir():
        return {}
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content, name = path.read_bytes(), path.relative_to(folder).as_posix()
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            compressed = _compress(content) if len(content) >= _LEAST_COMPRESSED else None
            found[name] = _File(content, compressed, kind, is_hashed=name.startswith("assets/"))
    return found


@cache
def _compress(content: bytes) -> bytes:
    """Compress a file; once a process, however many applications serve it."""
    return gzip.compress(content, mtime=0)
