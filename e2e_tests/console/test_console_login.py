"""People log in to the console at an OpenID Connect provider, and a token with any flaw lets nobody in."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import httpx2
import pytest
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_log.memory import MemoryLog
from graphtide_serving.access.settings import OidcSettings
from graphtide_testing.identity_provider import IdentityProvider, Signing, make_key, serve_provider
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page, Request

TOKEN: Final = re.compile(r"eyJ[\w-]+\.[\w-]+\.")
HOUR: Final = 3_600


@pytest.fixture(scope="module")
def provider() -> Iterator[IdentityProvider]:
    with serve_provider(IdentityProvider()) as served:
        yield served


@contextmanager
def console_of(provider: IdentityProvider) -> Iterator[str]:
    """Serve an API whose callers log in at a provider; gives the address of its console."""
    oidc = OidcSettings(issuer=provider.issuer, audience=provider.audience, jwks_url=f"{provider.issuer}/keys")
    settings = AdminApiSettings(oidc=oidc, console_client_id=provider.client_id, console_scope="openid patterns:read")
    with serve(admin_api(settings, MemoryLog())) as url:
        wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200, 60, pause=0.1)
        provider.redirects.add(f"{url}/console/")
        yield f"{url}/console/"


@pytest.fixture(scope="module")
def console(provider: IdentityProvider) -> Iterator[str]:
    with console_of(provider) as url:
        yield url


@pytest.fixture(autouse=True)
def right(provider: IdentityProvider) -> None:
    """Let the provider make right tokens; a test says what is wrong."""
    provider.identity, provider.access, provider.is_willing = Signing(), Signing(), True


def log_in(page: Page, console: str) -> None:
    page.goto(console)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.get_by_role("button", name="Log in as ann").click()


def test_a_person_logs_in_and_out(page: Page, console: str, provider: IdentityProvider) -> None:
    addresses: list[str] = []

    def keep(request: Request) -> None:
        addresses.append(request.url)

    page.on("request", keep)
    log_in(page, console)
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    asked, exchanged = provider.asked[-1], provider.exchanged[-1]
    assert asked["code_challenge_method"] == "S256"
    assert len(exchanged["code_verifier"]) == 43
    assert "client_secret" not in exchanged
    # Neither the code nor a token stays in an address, and no token was ever in one.
    assert page.url == console
    assert not [each for each in addresses if TOKEN.search(each)]
    assert page.evaluate("() => localStorage.length") == 0
    assert page.evaluate("() => document.cookie") == ""
    assert "graphtide.oidc" not in page.evaluate("() => Object.keys(sessionStorage)")
    page.get_by_role("link", name="Access").click()
    expect(page.get_by_text("ann", exact=True)).to_be_visible()
    expect(page.get_by_text("patterns:read")).not_to_have_count(0)
    ended = provider.ended
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("button", name="Log in", exact=True)).to_be_visible()
    wait_until(lambda: provider.ended == ended + 1, 60)
    expect(page.get_by_role("button", name="Log in", exact=True)).to_be_visible()
    assert page.evaluate("() => sessionStorage.length") == 0
    # The way back leads to no page of the person who left.
    page.go_back()
    expect(page.get_by_role("heading", name="Overview")).to_have_count(0)


def expect_refused(page: Page, words: str) -> None:
    """Expect that nobody is logged in, and that the page says why."""
    expect(page.get_by_text(words)).to_be_visible()
    expect(page.get_by_role("button", name="Log in", exact=True)).to_be_visible()
    assert page.evaluate("() => sessionStorage.length") == 0
    assert "code=" not in page.url


FLAWS: Final = {
    "expired": (Signing({"exp": time.time() - HOUR}), "it has expired"),
    "of a later time": (Signing({"iat": time.time() + HOUR, "nbf": time.time() + HOUR}), "it is of a later time"),
    "another issuer": (Signing({"iss": "https://other.example"}), "another issuer made it"),
    "unknown key": (Signing(key=make_key(), kid="unknown"), "its key is none of the provider's"),
    "wrong signature": (Signing(key=make_key()), "its signature is wrong"),
    "alg none": (Signing(key="none"), "it is not signed by an algorithm with a public key"),
}
OF_IDENTITY: Final = FLAWS | {
    "another audience": (Signing({"aud": "others"}), "it is for another application"),
    "several audiences": (Signing({"aud": ["console", "others"]}), "it is for another application"),
    "another nonce": (Signing({"nonce": "n" * 43}), "it belongs to another log-in"),
    "no nonce": (Signing({"nonce": None}), "it belongs to another log-in"),
    "no end": (Signing({"exp": None}), "it has expired"),
}
OF_ACCESS: Final = FLAWS | {"another audience": (Signing({"aud": "others"}), "it is for another audience")}


@pytest.mark.parametrize("flaw", OF_IDENTITY)
def test_an_id_token_with_a_flaw_lets_nobody_in(page: Page, console: str, provider: IdentityProvider, flaw: str) -> None:
    provider.identity, words = OF_IDENTITY[flaw]
    log_in(page, console)
    expect_refused(page, f"the ID token of the identity provider is refused: {words}")


@pytest.mark.parametrize("flaw", OF_ACCESS)
def test_an_access_token_with_a_flaw_lets_nobody_in(page: Page, console: str, provider: IdentityProvider, flaw: str) -> None:
    provider.access, words = OF_ACCESS[flaw]
    log_in(page, console)
    expect_refused(page, f"the bearer token is refused: {words}")


def test_clocks_may_differ_by_some_seconds(page: Page, console: str, provider: IdentityProvider) -> None:
    provider.identity = Signing({"iat": time.time() + 20, "exp": time.time() + 300})
    provider.access = Signing({"iat": time.time() + 20, "exp": time.time() + 300})
    log_in(page, console)
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_an_answer_that_the_console_did_not_ask_for_lets_nobody_in(
    page: Page, console: str, provider: IdentityProvider
) -> None:
    exchanged = len(provider.exchanged)
    page.goto(f"{console}?code=stolen&state=forged")
    expect_refused(page, "the answer of the identity provider belongs to another log-in")
    page.goto(console)
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page.get_by_role("button", name="Log in as ann")).to_be_visible()
    page.goto(f"{console}?code=stolen&state=forged")
    expect_refused(page, "the answer of the identity provider belongs to another log-in")
    assert len(provider.exchanged) == exchanged


def test_a_refusal_of_the_provider_is_shown(page: Page, console: str, provider: IdentityProvider) -> None:
    provider.is_willing = False
    log_in(page, console)
    expect_refused(page, "the identity provider refused the log-in: ann may not use this application")


def test_the_provider_gives_no_token_without_the_verifier(page: Page, console: str, provider: IdentityProvider) -> None:
    page.goto(console)
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page.get_by_role("button", name="Log in as ann")).to_be_visible()
    number = len(provider.asked) - 1
    decided = httpx2.get(f"{provider.issuer}/decision?asked={number}", follow_redirects=False)
    code = httpx2.URL(decided.headers["location"]).params["code"]
    body = {"code": code, "redirect_uri": console, "client_id": "console", "code_verifier": "guessed"}
    assert httpx2.post(f"{provider.issuer}/token", data=body).status_code == 400


def test_a_provider_that_says_that_it_is_another_is_refused(page: Page, provider: IdentityProvider) -> None:
    with serve(provider.application()) as other:
        settings = OidcSettings(issuer=other, audience="graphtide", jwks_url=f"{other}/keys")
        app = admin_api(AdminApiSettings(oidc=settings, console_client_id="console"), MemoryLog())
        with serve(app) as url:
            page.goto(f"{url}/console/")
            page.get_by_role("button", name="Log in", exact=True).click()
            expect(page.get_by_role("alert")).to_contain_text("the identity provider says that it is another")
