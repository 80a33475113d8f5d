"""The documentation describes the API as it is."""

from __future__ import annotations

from pathlib import Path

from graphtide_admin_api.openapi import description

DOCUMENTED = Path(__file__).parents[3] / "docs/reference/openapi.json"


def test_the_description_has_not_drifted() -> None:
    written = DOCUMENTED.read_text("utf-8")
    assert written == description(), "python -m graphtide_admin_api.openapi docs/reference/openapi.json writes it anew"
