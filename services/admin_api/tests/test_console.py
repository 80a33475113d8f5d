"""The console's files and what the console reads at its start."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Final

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.entrypoints.console import ConsoleSettings, serve_console
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_core.time import TimeUnit
from graphtide_log.memory import MemoryLog
from graphtide_serving.access.settings import OidcSettings

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT: Final = b"console.log(1)\n" * 200
ABOVE: Final = ("..%2f..%2fsettings.py", "assets/..%2f..%2fsettings.py", "%2e%2e/settings.py")


def serve(folder: Path, settings: ConsoleSettings | None = None) -> TestClient:
    app = FastAPI()
    serve_console(app, settings or ConsoleSettings(TimeUnit.MILLISECOND, asks_for_login=True), folder)
    return TestClient(app)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "files/assets").mkdir(parents=True)
    (tmp_path / "files/index.html").write_bytes(b"<!doctype html>")
    (tmp_path / "files/assets/index-1a2b.js").write_bytes(SCRIPT)
    (tmp_path / "settings.py").write_bytes(b"secret")
    return tmp_path / "files"


def test_files_come_compressed_and_stay_in_the_browser(built: Path) -> None:
    http = serve(built)
    script = http.get("/console/assets/index-1a2b.js")
    assert (script.content, script.headers["Content-Encoding"]) == (SCRIPT, "gzip")
    assert "immutable" in script.headers["Cache-Control"]
    assert "javascript" in script.headers["Content-Type"]
    plain = http.get("/console/assets/index-1a2b.js", headers={"Accept-Encoding": "identity"})
    assert plain.content == SCRIPT
    assert "Content-Encoding" not in plain.headers
    assert len(gzip.compress(SCRIPT)) < len(SCRIPT)
    assert http.get("/console/").headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("path", ["", "patterns/p", "matches/p/0-17", "patterns/%3Cscript%3E"])
def test_an_address_of_the_console_gets_its_page(built: Path, path: str) -> None:
    answer = serve(built).get(f"/console/{path}")
    assert (answer.status_code, answer.content) == (200, b"<!doctype html>")


def test_a_file_that_is_not_there_or_lies_above_is_not_serve(built: Path) -> None:
    http = serve(built)
    assert http.get("/console/assets/index-ffff.js").status_code == 404
    assert all(b"secret" not in http.get(f"/console/{path}").content for path in ABOVE)


def test_without_a_build_it_says_how_to_build_it(tmp_path: Path) -> None:
    answer = serve(tmp_path / "nothing").get("/console/")
    assert answer.status_code == 404
    assert "make console" in answer.text


def test_it_knows_where_people_log_in(built: Path) -> None:
    login = ConsoleSettings(TimeUnit.SECOND, True, "https://id.example/realm", "console", "openid")
    http = serve(built, login)
    assert http.get("/console/config.json").json() == {
        "version": http.get("/console/config.json").json()["version"],
        "unit": "s",
        "asks_for_login": True,
        "oidc": {"issuer": "https://id.example/realm", "client_id": "console", "scope": "openid"},
    }
    assert "connect-src 'self' https://id.example;" in http.get("/console/").headers["Content-Security-Policy"]
    assert serve(built).get("/console/config.json").json()["oidc"] is None


def test_it_is_open_and_other_sites_may_link_to_it_but_not_frame_it() -> None:
    provider = OidcSettings(issuer="https://id.example", audience="graphtide", jwks_url="https://id.example/keys")
    app = admin_api(AdminApiSettings(oidc=provider, console_client_id="console"), MemoryLog())
    with TestClient(app, base_url="http://127.0.0.1") as http:
        assert http.get("/console/config.json").json()["oidc"]["client_id"] == "console"
        assert http.get("/console", follow_redirects=False).headers["Location"] == "/console/"
        assert http.get("/api/v1/patterns").status_code == 401
        visit = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        assert http.get("/console/?code=x", headers=visit).status_code != 403
        assert http.get("/console/", headers={**visit, "Sec-Fetch-Dest": "iframe"}).status_code == 403
        assert http.get("/console/config.json", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
        assert http.get("/api/v1/patterns", headers=visit).status_code == 403
        assert http.post("/console/", headers=visit).status_code in {403, 405}
