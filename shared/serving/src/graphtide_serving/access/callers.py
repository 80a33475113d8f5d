"""Callers and their scopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

READ_PATTERNS: Final = "patterns:read"
WRITE_PATTERNS: Final = "patterns:write"
READ_MATCHES: Final = "matches:read"
WRITE_MATCHES: Final = "matches:write"
WRITE_EDGES: Final = "edges:write"
ADMIN: Final = "admin"
SCOPES: Final = frozenset({READ_PATTERNS, WRITE_PATTERNS, READ_MATCHES, WRITE_MATCHES, WRITE_EDGES, ADMIN})


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: a name for logs and bounds, and the scopes granted; `admin` includes all."""

    name: str
    scopes: frozenset[str]

    def may(self, scope: str) -> bool:
        """Whether the caller has a scope."""
        return scope in self.scopes or ADMIN in self.scopes


class Authentication(Protocol):
    """Identifies a caller by its credentials."""

    def caller(self, api_key: str | None, bearer: str | None) -> Caller | None:
        """Return who calls; None if the proof fails. Without a bearer token it makes no request, and returns at once.

        Raises:
            TransientError: the identity provider does not answer.
        """
        ...


class Anyone:
    """An `Authentication` for development that lets everyone do everything."""

    def caller(self, api_key: str | None, bearer: str | None) -> Caller | None:  # noqa: ARG002 - it asks for nothing
        """Return a caller who may do everything."""
        return Caller("anyone", frozenset({ADMIN}))
