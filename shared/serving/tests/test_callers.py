"""Who calls: keys, tokens of a provider, and how often."""

from __future__ import annotations

import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient
from graphtide_core.errors import FatalError, TransientError
from graphtide_serving.access.callers import Anyone, Caller, RefusedTokenError
from graphtide_serving.access.guard import Admission, Guard
from graphtide_serving.access.keys import ApiKeys, hash_key, new_key
from graphtide_serving.access.rate import RateLimit
from graphtide_serving.access.settings import AccessSettings, KeySettings
from graphtide_serving.access.several import Several
from graphtide_serving.access.tokens import Tokens
from graphtide_serving.http import answer_with_problems

ISSUER, AUDIENCE = "https://id.example", "graphtide"


class Provider(jwt.PyJWKClient):
    """A provider with one key, or one that does not answer."""

    def __init__(self, key: rsa.RSAPrivateKey | None) -> None:
        super().__init__("https://id.example/keys")
        self._key = key

    def get_signing_key_from_jwt(self, token: str | bytes) -> jwt.PyJWK:
        if self._key is None:
            message = "refused"
            raise jwt.PyJWKClientConnectionError(message)
        return jwt.PyJWK.from_json(jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key()), "RS256")


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def token(key: rsa.RSAPrivateKey, **changes: Any) -> str:
    claims = {"sub": "ann", "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 60, "scope": "patterns:read other"} | changes
    return jwt.encode({name: value for name, value in claims.items() if value is not None}, key, "RS256")


def test_a_key_is_known_by_its_hash_and_shown_nowhere() -> None:
    fresh = new_key()
    assert fresh != new_key()
    known = ApiKeys([(hash_key(fresh), Caller("ann", frozenset({"patterns:read"})))])
    assert known.caller(fresh, None) == Caller("ann", frozenset({"patterns:read"}))
    assert known.caller(fresh + "x", None) is None
    assert known.caller(None, fresh) is None


def test_a_token_of_the_provider_says_who_calls(key: rsa.RSAPrivateKey) -> None:
    tokens = Tokens(ISSUER, AUDIENCE, Provider(key))
    assert tokens.caller(None, token(key)) == Caller("ann", frozenset({"patterns:read", "other"}))
    listed = Tokens(ISSUER, AUDIENCE, Provider(key), claim="roles")
    assert listed.caller(None, token(key, roles=["admin", 7])) == Caller("ann", frozenset({"admin"}))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"iss": "https://other.example"}, "another issuer made it"),
        ({"aud": "others"}, "it is for another audience"),
        ({"exp": 1}, "it has expired"),
        ({"nbf": time.time() + 3_600}, "it is of a later time"),
        ({"exp": None}, "it lacks a claim"),
        ({"sub": None}, "it lacks a claim"),
        ({"aud": None}, "it lacks a claim"),
    ],
)
def test_a_token_that_is_not_for_us_proves_nothing(key: rsa.RSAPrivateKey, changes: dict[str, object], reason: str) -> None:
    with pytest.raises(RefusedTokenError, match=reason):
        Tokens(ISSUER, AUDIENCE, Provider(key)).caller(None, token(key, **changes))


@pytest.mark.parametrize(("claim", "seconds"), [("exp", -5), ("nbf", 15), ("iat", 15)])
def test_clocks_may_differ_by_some_seconds(key: rsa.RSAPrivateKey, claim: str, seconds: int) -> None:
    skewed = token(key, **{claim: time.time() + seconds})
    assert Tokens(ISSUER, AUDIENCE, Provider(key)).caller(None, skewed) is not None


def test_a_token_that_someone_else_signed_proves_nothing(key: rsa.RSAPrivateKey) -> None:
    other = rsa.generate_private_key(65537, 2048)
    tokens = Tokens(ISSUER, AUDIENCE, Provider(key))
    unsigned = jwt.encode({"sub": "ann", "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 60}, "", "none")
    for forged, reason in (
        (token(other), "its signature is wrong"),
        (unsigned, "it is not signed by an algorithm with a public key"),
        ("no token", "it is no token"),
        ("", "it is no token"),
    ):
        with pytest.raises(RefusedTokenError, match=reason):
            tokens.caller(None, forged)


def test_a_provider_that_does_not_answer_is_no_refusal(key: rsa.RSAPrivateKey) -> None:
    with pytest.raises(TransientError):
        Tokens(ISSUER, AUDIENCE, Provider(None)).caller(None, token(key))


def test_a_caller_is_known_by_any_of_several_ways(key: rsa.RSAPrivateKey) -> None:
    ways = Several([ApiKeys([(hash_key("k"), Caller("bob", frozenset()))]), Tokens(ISSUER, AUDIENCE, Provider(key))])
    assert [ways.caller("k", None), ways.caller(None, None)] == [Caller("bob", frozenset()), None]
    found = ways.caller("wrong", token(key))
    assert found is not None
    assert found.name == "ann"


def test_nobody_is_let_in_by_forgetting_to_say_who_may() -> None:
    with pytest.raises(FatalError, match="no caller has access"):
        AccessSettings().authentication()
    with pytest.raises(FatalError, match="no scope cook"):
        AccessSettings(api_keys=[KeySettings(name="a", hash="0" * 64, scopes=["cook"])]).authentication()


def test_a_bucket_fills_at_its_rate_and_no_higher_than_its_burst() -> None:
    rate = RateLimit(2.0, 2, most_callers=2)
    assert [rate.wait("a", 0.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert [rate.wait("a", 100.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert rate.wait("b", 100.0) == 0.0
    assert rate.wait("c", 100.0) == 0.0
    assert rate.wait("a", 100.0) == 0.0  # Forgotten: two others came since.


def test_a_route_lets_only_those_pass_that_have_its_scope() -> None:
    keys = ApiKeys([(hash_key(name), Caller(name, frozenset({name}))) for name in ("edges:write", "patterns:read", "admin")])
    app, guard = FastAPI(), Guard(keys, RateLimit(1_000.0, 1_000))
    answer_with_problems(app)
    app.add_middleware(Admission, guard=guard)

    @app.get("/", dependencies=[Depends(guard.requires("edges:write"))])
    def root() -> str:
        return "in"

    with TestClient(app) as http:
        shown: list[dict[str, str]] = [{}, {"X-API-Key": "guess"}, {"Authorization": "Basic eA=="}]
        shown += [{"X-API-Key": name} for name in ("patterns:read", "edges:write", "admin")]
        assert [http.get("/", headers=each).status_code for each in shown] == [401, 401, 401, 403, 200, 200]


def test_for_development_anyone_may_do_everything() -> None:
    assert isinstance(AccessSettings(insecure=True).authentication(), Anyone)
    caller = Anyone().caller(None, None)
    assert caller is not None
    assert caller.may("edges:write")
