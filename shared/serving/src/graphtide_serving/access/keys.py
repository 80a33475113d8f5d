"""API keys: random texts; only their hashes are kept.

A key has 256 random bits, so a plain hash keeps it as well as a slow one would.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_serving.access.callers import Caller

_PREFIX = "gt_"


class ApiKeys:
    """An `Authentication` by the header X-API-Key."""

    def __init__(self, known: Iterable[tuple[str, Caller]]) -> None:
        """Take callers by the hashes of their keys, as `hash_key` gives them."""
        self._known = [(hash.lower().encode(), caller) for hash, caller in known]

    def caller(self, api_key: str | None, bearer: str | None) -> Caller | None:  # noqa: ARG002 - tokens are another's
        """Return the caller with this key. Complexity: O(keys), as long for a wrong key as for a right one."""
        if api_key is None:
            return None
        given = hash_key(api_key).encode()
        found = None
        for hash, caller in self._known:
            if hmac.compare_digest(hash, given):
                found = caller
        return found


def hash_key(key: str) -> str:
    """Return the hash of a key: SHA-256 in hexadecimal digits."""
    return hashlib.sha256(key.encode()).hexdigest()


def new_key() -> str:
    """Return a new key."""
    return _PREFIX + secrets.token_urlsafe(32)
