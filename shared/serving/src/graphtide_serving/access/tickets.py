"""Tickets: a browser shows them in an address when it cannot send a header, as for events.

A ticket is made for a caller who showed a key or a token. It lets its bearer read the matches that the caller may read, and
nothing else. It is over soon, because an address ends up in histories and in logs. Any process with the same secret takes it,
each once.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING, Final

import jwt

from graphtide_serving.access.callers import Caller
from graphtide_serving.access.rights import READ_MATCHES, read_right

if TYPE_CHECKING:
    from graphtide_core.ports.clock import Clock

SECONDS: Final = 60
LEAST_SECRET: Final = 32
"""Bytes that a secret has at least."""

_MOST_USED: Final = 100_000
"""Used tickets of the last minute that are known; past them no ticket is taken."""

_AUDIENCE: Final = "graphtide-events"
_ALGORITHM: Final = "HS256"


class Tickets:
    """Makes tickets and knows its own."""

    def __init__(self, clock: Clock, secret: str | None = None, seconds: int = SECONDS) -> None:
        """Sign with a secret, or with a random one of its own: then no other process takes the tickets."""
        self._clock = clock
        self._secret = secret or secrets.token_urlsafe(LEAST_SECRET)
        self._seconds = seconds
        self._lock = Lock()
        self._used: OrderedDict[str, datetime] = OrderedDict()

    def new(self, caller: Caller) -> tuple[str, datetime]:
        """Return a ticket for a caller, and when it is over."""
        end = self._clock.now().astimezone(UTC).replace(microsecond=0) + timedelta(seconds=self._seconds)
        rights = [READ_MATCHES] if caller.may(READ_MATCHES) else sorted(filter(_reads_matches, caller.scopes))
        claims = {"sub": caller.name, "aud": _AUDIENCE, "exp": end, "jti": secrets.token_urlsafe(16), "rights": rights}
        return jwt.encode(claims, self._secret, _ALGORITHM), end

    def caller(self, ticket: str) -> Caller | None:
        """Return the caller that a ticket was made for; None if it is not a ticket, is over, or was used here before."""
        try:
            claims = jwt.decode(
                ticket,
                self._secret,
                algorithms=[_ALGORITHM],
                audience=_AUDIENCE,
                options={"require": ["exp", "aud", "sub", "jti", "rights"], "verify_exp": False},
            )
            end = datetime.fromtimestamp(claims["exp"], UTC)
        except (jwt.PyJWTError, TypeError, ValueError, OverflowError):
            return None
        now = self._clock.now()
        if end <= now or not self._use(str(claims["jti"]), end, now):
            return None
        return Caller(claims["sub"], frozenset(claims["rights"]))

    def _use(self, ticket: str, end: datetime, now: datetime) -> bool:
        """Return whether a ticket was not used before; tickets that are over are forgotten."""
        with self._lock:
            while self._used and next(iter(self._used.values())) <= now:
                self._used.popitem(last=False)
            if ticket in self._used or len(self._used) >= _MOST_USED:
                return False
            self._used[ticket] = end
            return True


def _reads_matches(scope: str) -> bool:
    right = read_right(scope)
    return right is not None and right.scope == READ_MATCHES
