"""Addresses of described routes: each parameter of a path has one value here, which tests of every route use.

A route with a new parameter gets its line here; nothing else in those tests names it.
"""

from __future__ import annotations

from typing import Final

PARAMETERS: Final = {"name": "p", "stream": "s", "place": "0-0", "id": "0", "match_id": "0", "target": "t"}


def address(path: str) -> str:
    """Return a path of a description with values for its parameters.

    Raises:
        KeyError: a parameter has no value in `PARAMETERS`.
    """
    return path.format_map(PARAMETERS)
