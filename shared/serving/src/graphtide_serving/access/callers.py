"""Callers and their scopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from graphtide_serving.access.rights import ADMIN, named_rights


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: a name for logs and bounds, and the scopes granted (`rights`); `admin` includes all."""

    name: str
    scopes: frozenset[str]

    def may(self, scope: str, *, pattern: str | None = None, stream: str | None = None) -> bool:
        """Whether the caller has a scope: of a pattern, of the stream that it reads, or of everything if neither is given.

        One of the two is enough: a right to a name holds whatever stream the pattern reads. A merged stream needs rights to all
        that it is merged from. Complexity: O(length of the names + names in the scopes that end with `*`).
        """
        if scope in self.scopes or ADMIN in self.scopes:
            return True
        named = named_rights(self.scopes, scope)
        if named is None:
            return False
        return (pattern is not None and named.covers_pattern(pattern)) or (stream is not None and named.covers_stream(stream))

    def may_some(self, scope: str) -> bool:
        """Whether the caller has a scope of anything."""
        return self.may(scope) or named_rights(self.scopes, scope) is not None


class RefusedTokenError(Exception):
    """A token proves nothing; the message says why, and has nothing of the token."""


class Authentication(Protocol):
    """Identifies a caller by its credentials."""

    def caller(self, api_key: str | None, bearer: str | None) -> Caller | None:
        """Return who calls; None if the proof fails. Without a bearer token it makes no request, and returns at once.

        Raises:
            RefusedTokenError: the token is refused, and the error says why.
            TransientError: the identity provider does not answer.
        """
        ...


class Anyone:
    """An `Authentication` for development that lets everyone do everything."""

    def caller(self, api_key: str | None, bearer: str | None) -> Caller | None:  # noqa: ARG002 - it asks for nothing
        """Return a caller who may do everything."""
        return Caller("anyone", frozenset({ADMIN}))
