"""The program `graphtide-admin-api`: serves, makes an API key, or writes the description of the API."""

# ruff: noqa: E402 - what is imported may start threads, which are to have no arenas of their own, and takes its time
from __future__ import annotations

from graphtide_native.allocator import stay_small
from graphtide_serving.starting import end_at_once

stay_small()
end_at_once()

import json
import sys
from pathlib import Path

from graphtide_core.errors import FatalError
from graphtide_serving.access.keys import hash_key, new_key
from graphtide_serving.access.rights import check
from graphtide_serving.running import run
from graphtide_telemetry.logs import to_standard_error
from graphtide_telemetry.setup import set_up

from graphtide_admin_api.bootstrap import admin_api, description
from graphtide_admin_api.settings import AdminApiSettings


def main() -> None:
    """Serve until a signal ends it.

    As `new-key NAME SCOPE…`, make a key and its settings; as `openapi FILE`, write the description of the API.
    """
    match sys.argv[1:]:
        case ["new-key", name, *scopes] if scopes:
            _make_key(name, scopes)
        case ["openapi", path]:
            Path(path).write_text(description(), "utf-8")
        case []:
            _serve()
        case _:
            sys.stderr.write(
                "graphtide-admin-api: without arguments it serves; new-key NAME SCOPE... makes a key; openapi describes\n"
            )
            sys.exit(2)


def _make_key(name: str, scopes: list[str]) -> None:
    try:
        allowed = sorted(check(scopes))
    except ValueError as error:
        sys.stderr.write(f"graphtide-admin-api: {error}\n")
        sys.exit(2)
    key = new_key()
    sys.stderr.write(f"the key, which is shown only now: {key}\n")
    sys.stdout.write(json.dumps({"name": name, "hash": hash_key(key), "scopes": allowed}) + "\n")


def _serve() -> None:
    to_standard_error()
    settings = AdminApiSettings()
    set_up("graphtide-admin-api", settings.telemetry)
    try:
        app = admin_api(settings)
    except FatalError as error:
        sys.stderr.write(f"graphtide-admin-api: {error}\n")
        sys.exit(1)
    run(app, settings.host, settings.port)


if __name__ == "__main__":
    main()
