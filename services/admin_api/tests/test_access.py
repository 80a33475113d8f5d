"""Who may do what: keys, tokens, scopes, bounds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from fastapi.testclient import TestClient
from graphtide_admin_api.adapters.keys import ApiKeys, hashed, new_key
from graphtide_admin_api.adapters.several import Several
from graphtide_admin_api.adapters.tokens import Tokens
from graphtide_admin_api.bootstrap import admin_api, authentication
from graphtide_admin_api.domain.access import Caller
from graphtide_admin_api.domain.rate import RateLimit
from graphtide_admin_api.settings import AdminApiSettings, KeySettings
from graphtide_core.errors import FatalError, TransientError
from graphtide_runtime.memory import MemoryLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Deployment

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
    known = ApiKeys([(hashed(fresh), Caller("ann", frozenset({"patterns:read"})))])
    assert known.caller(fresh, None) == Caller("ann", frozenset({"patterns:read"}))
    assert known.caller(fresh + "x", None) is None
    assert known.caller(None, fresh) is None


def test_a_token_of_the_provider_says_who_calls(key: rsa.RSAPrivateKey) -> None:
    tokens = Tokens(ISSUER, AUDIENCE, Provider(key))
    assert tokens.caller(None, token(key)) == Caller("ann", frozenset({"patterns:read", "other"}))
    listed = Tokens(ISSUER, AUDIENCE, Provider(key), claim="roles")
    assert listed.caller(None, token(key, roles=["admin", 7])) == Caller("ann", frozenset({"admin"}))


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://other.example"},
        {"aud": "others"},
        {"exp": 1},
        {"exp": None},
        {"sub": None},
        {"aud": None},
    ],
)
def test_a_token_that_is_not_for_us_proves_nothing(key: rsa.RSAPrivateKey, changes: dict[str, object]) -> None:
    assert Tokens(ISSUER, AUDIENCE, Provider(key)).caller(None, token(key, **changes)) is None


def test_a_token_that_someone_else_signed_proves_nothing(key: rsa.RSAPrivateKey) -> None:
    other = rsa.generate_private_key(65537, 2048)
    tokens = Tokens(ISSUER, AUDIENCE, Provider(key))
    unsigned = jwt.encode({"sub": "ann", "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 60}, "", "none")
    for forged in (token(other), unsigned, "no token", ""):
        assert tokens.caller(None, forged) is None


def test_a_provider_that_does_not_answer_is_no_refusal(key: rsa.RSAPrivateKey) -> None:
    with pytest.raises(TransientError):
        Tokens(ISSUER, AUDIENCE, Provider(None)).caller(None, token(key))


def test_a_caller_is_known_by_any_of_several_ways(key: rsa.RSAPrivateKey) -> None:
    ways = Several([ApiKeys([(hashed("k"), Caller("bob", frozenset()))]), Tokens(ISSUER, AUDIENCE, Provider(key))])
    assert [ways.caller("k", None), ways.caller(None, None)] == [Caller("bob", frozenset()), None]
    found = ways.caller("wrong", token(key))
    assert found is not None
    assert found.name == "ann"


def test_scopes_decide_what_a_caller_may_do(deployment: Deployment) -> None:
    def status(method: str, path: str, key: str | None, **given: Any) -> int:
        headers = {"X-API-Key": key} if key is not None else {"X-API-Key": ""}
        return int(deployment.http.request(method, f"/api/v1{path}", headers=headers, **given).status_code)

    text = {"text": "PATTERN p MATCH (a)-[x]->(b) ON s WINDOW 10"}
    assert status("POST", "/patterns", None, json=text) == 401
    assert status("POST", "/patterns", "guess", json=text) == 401
    assert status("POST", "/patterns", "reader", json=text) == 403
    assert status("POST", "/patterns", "writer", json=text) == 201
    assert status("GET", "/patterns/p", "reader") == 200
    assert status("GET", "/patterns/p/matches", "writer") == 403
    assert status("GET", "/patterns/p/matches", "reader") == 200
    assert status("GET", "/dead-letters", "reader") == 403
    assert status("GET", "/dead-letters", "root") == 200
    refused = deployment.http.get("/api/v1/patterns", headers={"X-API-Key": "guess"})
    assert (refused.headers["WWW-Authenticate"], refused.json()["code"]) == ("Bearer", "unauthenticated")


def test_every_route_but_health_asks_who_calls(deployment: Deployment) -> None:
    described = deployment.http.get("/openapi.json").json()
    for path, operations in described["paths"].items():
        for method in operations:
            address = path.format(name="p", stream="s", place="0-0")
            status = deployment.http.request(method, address, headers={"X-API-Key": ""}).status_code
            assert (status == 401) == path.startswith("/api/"), (method, path)


def test_nobody_is_let_in_by_forgetting_to_say_who_may() -> None:
    with pytest.raises(FatalError, match="nobody could call"):
        authentication(AdminApiSettings())
    with pytest.raises(FatalError, match="no scope cook"):
        authentication(AdminApiSettings(api_keys=[KeySettings(name="a", hash="0" * 64, scopes=["cook"])]))


def test_for_development_everyone_may_do_everything() -> None:
    with TestClient(admin_api(AdminApiSettings(insecure=True), MemoryLog())) as http:
        assert http.get("/api/v1/dead-letters").status_code == 200


def test_a_caller_who_calls_too_often_is_told_when_to_come_back() -> None:
    settings = AdminApiSettings(insecure=True, requests_per_second=0.5, burst=2)
    with TestClient(admin_api(settings, MemoryLog())) as http:
        answers = [http.get("/api/v1/patterns") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].headers["Retry-After"] in {"1", "2"}


def test_a_bucket_fills_at_its_rate_and_no_higher_than_its_burst() -> None:
    rate = RateLimit(2.0, 2, most_callers=2)
    assert [rate.wait("a", 0.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert [rate.wait("a", 100.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert rate.wait("b", 100.0) == 0.0
    assert rate.wait("c", 100.0) == 0.0
    assert rate.wait("a", 100.0) == 0.0  # Forgotten: two others came since.


@pytest.mark.parametrize("declare", [lambda body: body, lambda body: iter([body[:10], body[10:]])])
def test_a_body_that_is_too_large_is_refused_declared_or_not(declare: Callable[[bytes], Any]) -> None:
    with TestClient(admin_api(AdminApiSettings(insecure=True, most_body_bytes=1000), MemoryLog())) as http:
        body, json = b'{"text":"' + b"x" * 1000 + b'"}', {"Content-Type": "application/json"}
        answer = http.post("/api/v1/patterns", content=declare(body), headers=json)
        assert (answer.status_code, answer.json()["code"]) == (413, "too-large")
        small = http.post("/api/v1/patterns:validate", content=declare(b'{"text":"PATTERN"}'), headers=json)
        assert small.json()["valid"] is False
