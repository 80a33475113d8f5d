"""The documentation describes the API as it is."""

from __future__ import annotations

import json
from pathlib import Path

from graphtide_admin_api.bootstrap import description

DOCUMENTED = Path(__file__).parents[3] / "docs/reference/openapi.json"


def test_the_description_has_not_drifted() -> None:
    """The one in the documentation holds the routes of ingestion, too."""
    written, now = json.loads(DOCUMENTED.read_text("utf-8")), json.loads(description())
    documented = {path: {method: written["paths"][path].get(method) for method in item} for path, item in now["paths"].items()}
    assert documented == now["paths"]
    for kind, named in now["components"].items():
        assert {name: written["components"][kind].get(name) for name in named} == named
