"""The description of the API in OpenAPI.

`python -m graphtide_admin_api.openapi FILE` writes it; a test compares it with the one in the documentation.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from graphtide_runtime.memory import MemoryLog

from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings


def description() -> str:
    """Return the description as JSON."""
    return json.dumps(admin_api(AdminApiSettings(insecure=True), MemoryLog()).openapi(), indent=2) + "\n"


def main() -> None:
    """Write the description into the file that the command line names."""
    Path(sys.argv[1]).write_text(description(), "utf-8")


if __name__ == "__main__":
    main()
