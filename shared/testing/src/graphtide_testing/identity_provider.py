"""A provider of OpenID Connect on loopback: discovery, log-in by the code flow with PKCE, tokens, keys, end of a session.

It checks what a real one checks, and signs what a test asks it to, flaws included.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from graphtide_testing.serving import serve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from starlette.requests import Request

SECONDS: Final = 300


def make_key() -> rsa.RSAPrivateKey:
    """Return a new key."""
    return rsa.generate_private_key(65537, 2048)


@dataclass
class Signing:
    """How tokens of a kind are made.

    Attributes:
        claims: that differ from what is right; None leaves a claim out.
        key: that signs, if it is not the provider's; `none` for a token without a signature.
        kid: name of the key in the token.
    """

    claims: dict[str, Any] = field(default_factory=dict)
    key: rsa.RSAPrivateKey | str | None = None
    kid: str = "first"


@dataclass
class IdentityProvider:
    """A provider with one client and one user, ann.

    Attributes:
        client_id: of the client.
        audience: of access tokens.
        scopes: that access tokens have.
        issuer: its address.
        redirects: addresses that a browser may be sent back to.
        identity: how ID tokens are made.
        access: how access tokens are made.
        is_willing: whether ann may log in.
        asked: the queries of log-ins.
        exchanged: bodies of requests for tokens.
        ended: how many sessions were ended.
    """

    client_id: str = "console"
    audience: str = "graphtide"
    scopes: str = "patterns:read matches:read"
    issuer: str = ""
    redirects: set[str] = field(default_factory=set)
    identity: Signing = field(default_factory=Signing)
    access: Signing = field(default_factory=Signing)
    is_willing: bool = True
    asked: list[dict[str, str]] = field(default_factory=list)
    exchanged: list[dict[str, str]] = field(default_factory=list)
    ended: int = 0
    _key: rsa.RSAPrivateKey = field(default_factory=make_key)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def application(self) -> Starlette:
        """Return it, to be served."""
        routes = [
            Route("/.well-known/openid-configuration", self._discover),
            Route("/keys", self._keys),
            Route("/authorize", self._authorize),
            Route("/decision", self._decide),
            Route("/token", self._exchange, methods=["POST"]),
            Route("/logout", self._end),
        ]
        anybody = Middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["GET", "POST"])
        return Starlette(routes=routes, middleware=[anybody])

    async def _discover(self, _: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "end_session_endpoint": f"{self.issuer}/logout",
            }
        )

    async def _keys(self, _: Request) -> Response:
        public = jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return JSONResponse({"keys": [{**public, "kid": "first", "use": "sig", "alg": "RS256"}]})

    async def _authorize(self, request: Request) -> Response:
        query = dict(request.query_params)
        if (flaw := self._flaw_of(query)) is not None:
            return JSONResponse({"error": "invalid_request", "error_description": flaw}, 400)
        self.asked.append(query)
        number = str(len(self.asked) - 1)
        page = f"<h1>Provider</h1><form action=decision><button name=asked value={escape(number)}>Log in as ann</button></form>"
        return HTMLResponse(page)

    def _flaw_of(self, query: Mapping[str, str]) -> str | None:
        checks = {
            "another client": query.get("client_id") == self.client_id,
            "another address": query.get("redirect_uri") in self.redirects,
            "not the code flow": query.get("response_type") == "code",
            "no PKCE by S256": query.get("code_challenge_method") == "S256" and len(query.get("code_challenge", "")) == 43,
            "no state": len(query.get("state", "")) >= 32,
            "no nonce": len(query.get("nonce", "")) >= 32,
            "no openid": "openid" in query.get("scope", "").split(),
        }
        return next((flaw for flaw, holds in checks.items() if not holds), None)

    async def _decide(self, request: Request) -> Response:
        asked = self.asked[int(request.query_params["asked"])]
        if not self.is_willing:
            answer = {"error": "access_denied", "error_description": "ann may not use this application"}
        else:
            code = secrets.token_urlsafe()
            self._codes[code] = asked
            answer = {"code": code}
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({**answer, 'state': asked['state']})}", 302)

    async def _exchange(self, request: Request) -> Response:
        body = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        self.exchanged.append(body)
        # A code is used once.
        asked = self._codes.pop(body.get("code", ""), None)
        digest = hashlib.sha256(body.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or challenge != asked["code_challenge"] or body.get("redirect_uri") != asked["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(time.time())
        common = {"iss": self.issuer, "sub": "ann", "iat": now, "exp": now + SECONDS}
        access = self._sign({**common, "aud": self.audience, "scope": self.scopes}, self.access)
        identity = self._sign({**common, "aud": self.client_id, "nonce": asked["nonce"]}, self.identity)
        given = {"access_token": access, "id_token": identity, "token_type": "Bearer", "expires_in": SECONDS}
        return JSONResponse(given, headers={"Cache-Control": "no-store"})

    def _sign(self, claims: Mapping[str, Any], how: Signing) -> str:
        kept = {name: value for name, value in {**claims, **how.claims}.items() if value is not None}
        if how.key == "none":
            return jwt.encode(kept, "", "none", headers={"kid": how.kid})
        assert not isinstance(how.key, str)
        return jwt.encode(kept, how.key or self._key, "RS256", headers={"kid": how.kid})

    async def _end(self, request: Request) -> Response:
        back = request.query_params.get("post_logout_redirect_uri", "")
        if back not in self.redirects or request.query_params.get("client_id") != self.client_id:
            return JSONResponse({"error": "invalid_request"}, 400)
        self.ended += 1
        return RedirectResponse(back, 302)


@contextmanager
def serve_provider(provider: IdentityProvider) -> Iterator[IdentityProvider]:
    """Serve a provider while the block runs."""
    with serve(provider.application()) as url:
        provider.issuer = url
        yield provider
