"""Bearer tokens of an OpenID Connect provider."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import jwt
from graphtide_core.errors import TransientError

from graphtide_serving.access.callers import Caller, RefusedTokenError

if TYPE_CHECKING:
    from collections.abc import Mapping

_ALGORITHMS: Final = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
"""Only those with a public key: a reader of the provider's keys must not be able to sign."""

_LEEWAY_SECONDS: Final = 30


@dataclass(slots=True)
class Tokens:
    """An `Authentication` by signed tokens: issuer, audience, time and signature are checked.

    Attributes:
        issuer: who must have issued them.
        audience: whom they must be for.
        keys: gives the public key that a token names, from the provider.
        claim: the claim with the scopes: a text with spaces, or a list.
    """

    issuer: str
    audience: str
    keys: jwt.PyJWKClient
    claim: str = "scope"
    _required: tuple[str, ...] = field(default=("exp", "iss", "aud", "sub"), init=False)

    def caller(self, api_key: str | None, bearer: str | None) -> Caller | None:  # noqa: ARG002 - keys are another's
        """Return the caller that the token names.

        Raises:
            RefusedTokenError: the token proves nothing; the error says why.
            TransientError: the provider does not give its keys.
        """
        if bearer is None:
            return None
        try:
            claims = jwt.decode(
                bearer,
                self.keys.get_signing_key_from_jwt(bearer).key,
                algorithms=_ALGORITHMS,
                audience=self.audience,
                issuer=self.issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": list(self._required)},
            )
        except jwt.PyJWKClientConnectionError as error:
            message = f"the provider of tokens does not answer: {error}"
            raise TransientError(message) from error
        except jwt.PyJWTError as error:
            raise RefusedTokenError(_reason(error)) from error
        return Caller(str(claims["sub"]), _scopes(claims, self.claim))


_REASONS: Final[tuple[tuple[type[jwt.PyJWTError], str], ...]] = (
    (jwt.ExpiredSignatureError, "it has expired"),
    (jwt.ImmatureSignatureError, "it is of a later time: the clocks differ"),
    (jwt.InvalidAudienceError, "it is for another audience"),
    (jwt.InvalidIssuerError, "another issuer made it"),
    (jwt.MissingRequiredClaimError, "it lacks a claim: iss, aud, sub and exp are needed"),
    (jwt.InvalidAlgorithmError, "it is not signed by an algorithm with a public key"),
    (jwt.InvalidSignatureError, "its signature is wrong"),
    (jwt.PyJWKClientError, "its key is none of the provider's"),
)


def _reason(error: jwt.PyJWTError) -> str:
    """Return why a token is refused, without anything that is in it."""
    return next((reason for kind, reason in _REASONS if isinstance(error, kind)), "it is no token")


def _scopes(claims: Mapping[str, object], claim: str) -> frozenset[str]:
    given = claims.get(claim)
    if isinstance(given, str):
        return frozenset(given.split())
    return frozenset(each for each in given if isinstance(each, str)) if isinstance(given, list) else frozenset()
