"""What a browser can use: events of all patterns, tickets in place of headers, pages of other sites that are allowed."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import httpx2
import pytest
from graphtide_admin_api.application.following import FollowingAll
from graphtide_admin_api.application.matches import MatchFeed, RecentMatches
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_log.memory import MemoryLog
from graphtide_serving.access.callers import Caller
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.rights import READ_MATCHES
from graphtide_serving.access.settings import KeySettings
from graphtide_serving.access.tickets import Tickets
from graphtide_serving.clock import SystemClock
from graphtide_testing.clock import ManualClock
from graphtide_testing.serving import serve
from graphtide_testing.telemetry import spans_in_memory
from graphtide_testing.waiting import wait_until
from graphtide_wire import matches
from graphtide_wire.place import Places
from graphtide_wire.topics import Topics
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator

TOPICS = Topics()
UI = "https://ui.example"
KEYS = {"ann": ["matches:read"], "bob": ["patterns:read"]}


def report(log: MemoryLog, name: str, number: int) -> None:
    body = f'{{"match_id":"{number}","query":"{name}","kind":"match","detected_at":0}}'.encode()
    log.writer().write([matches.encode(TOPICS.matches, body, 1, None)])


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


@pytest.fixture
def http(log: MemoryLog) -> Iterator[httpx2.Client]:
    keys = [KeySettings(name=name, hash=hash_key(name), scopes=scopes) for name, scopes in KEYS.items()]
    settings = AdminApiSettings(api_keys=keys, cors_origins=["HTTPS://ui.example:443"])
    with serve(admin_api(settings, log)) as url, httpx2.Client(base_url=url, timeout=60) as http:
        wait_until(lambda: http.get("/readyz").status_code == 200, 60, pause=0.05)
        yield http


def events(http: httpx2.Client, address: str, count: int) -> list[tuple[str, str]]:
    """Return the first events of an address: the id and the number of the match."""
    return [(place, data.split('"')[3]) for place, data in data_of_events(http, address, count)]


def data_of_events(http: httpx2.Client, address: str, count: int) -> list[tuple[str, str]]:
    """Return the first events of an address: the id and the data."""
    found: list[tuple[str, str]] = []
    place = ""
    with http.stream("GET", address) as answer:
        assert answer.status_code == 200, answer.read()
        for line in answer.iter_lines():
            field, _, value = line.partition(": ")
            if field == "id":
                place = value
            elif field == "data":
                found.append((place, value))
                if len(found) == count:
                    break
    return found


def test_a_ticket_follows_the_matches_of_all_patterns_and_does_nothing_else(http: httpx2.Client, log: MemoryLog) -> None:
    made = http.post("/api/v1/tickets", headers={"X-API-Key": "ann"})
    assert (made.status_code, made.headers["Cache-Control"]) == (201, "no-store")

    def ticket() -> str:
        return str(http.post("/api/v1/tickets", headers={"X-API-Key": "ann"}).json()["ticket"])

    for number, name in enumerate("pqp"):
        report(log, name, number)
    wait_until(lambda: len(events(http, f"/api/v1/matches:stream?last=3&ticket={ticket()}", 3)) == 3, 60, pause=0.05)
    assert events(http, f"/api/v1/matches:stream?last=2&ticket={ticket()}", 2) == [("0-1", "1"), ("0-2", "2")]
    assert events(http, f"/api/v1/matches:stream?after=0-0&ticket={ticket()}", 2) == [("0-1", "1"), ("0-2", "2")]
    for path in ("/api/v1/patterns", "/api/v1/patterns/p/matches", "/api/v1/tickets"):
        assert http.get(f"{path}?ticket={ticket()}").status_code == 401
    for bad in ("", "x", ticket()[:-2], Tickets(SystemClock()).new(Caller("ann", frozenset()))[0]):
        assert http.get(f"/api/v1/matches:stream?ticket={bad}").status_code == 401
    assert http.post("/api/v1/tickets", headers={"X-API-Key": "bob"}).status_code == 403
    assert http.post("/api/v1/tickets").status_code == 401
    refused = http.get(f"/api/v1/matches:stream?after=x&ticket={ticket()}")
    assert (refused.status_code, refused.json()["code"]) == (400, "bad-event-id")


def test_events_may_be_what_lists_show(http: httpx2.Client, log: MemoryLog) -> None:
    report(log, "p", 0)
    http.headers["X-API-Key"] = "ann"
    wait_until(lambda: len(http.get("/api/v1/matches").json()["matches"]) == 1, 60, pause=0.05)
    (listed,) = http.get("/api/v1/matches").json()["matches"]
    ((_, sent),) = data_of_events(http, "/api/v1/matches:stream?last=1&listed=true", 1)
    assert json.loads(sent) == listed


def test_a_ticket_opens_one_stream(http: httpx2.Client, log: MemoryLog) -> None:
    report(log, "p", 1)
    wait_until(lambda: len(http.get("/api/v1/patterns", headers={"X-API-Key": "bob"}).text) > 0, 60, pause=0.05)
    ticket = http.post("/api/v1/tickets", headers={"X-API-Key": "ann"}).json()["ticket"]
    assert events(http, f"/api/v1/matches:stream?last=1&ticket={ticket}", 1) == [("0-0", "1")]
    refused = http.get(f"/api/v1/matches:stream?last=1&ticket={ticket}")
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")


def test_a_ticket_is_in_no_trace(http: httpx2.Client) -> None:
    with spans_in_memory() as spans:

        def has_ended(number: int) -> bool:
            return any(int(each.trace_id, 16) == number for each in spans.ended())

        for number, path in enumerate(("/matches:stream?last=7&ticket=top-secret", "/patterns?stream=s"), start=1):
            traceparent = f"00-{number:032x}-b7ad6b7169203331-01"
            http.get(f"/api/v1{path}", headers={"X-API-Key": "" if number == 1 else "bob", "traceparent": traceparent})
            wait_until(partial(has_ended, number), 60, pause=0.01)
        queries = [str(each.attributes["url.query"]) for each in spans.ended() if "url.query" in each.attributes]
    assert queries == ["REDACTED", "stream=s"]


def test_a_ticket_is_over_after_a_minute_and_known_to_all_with_its_secret() -> None:
    clock, secret = ManualClock(), "s" * 32
    ticket, end = Tickets(clock, secret).new(Caller("ann", frozenset({"admin"})))
    other = Tickets(clock, secret)
    assert end <= clock.now() + timedelta(seconds=60)
    assert other.caller(ticket) == Caller("ann", frozenset({READ_MATCHES})), "it allows no more than reading matches"
    clock.sleep(61)
    assert other.caller(ticket) is None


def test_pages_of_a_site_that_is_allowed_may_call(http: httpx2.Client) -> None:
    asked = {"Origin": UI, "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "x-api-key, if-match"}
    answer = http.options("/api/v1/patterns/p", headers=asked)
    assert (answer.status_code, answer.headers["Access-Control-Allow-Origin"]) == (200, UI)
    assert "PUT" in answer.headers["Access-Control-Allow-Methods"]
    shown = http.get("/api/v1/patterns", headers={"Origin": UI, "Sec-Fetch-Site": "cross-site", "X-API-Key": "bob"})
    assert (shown.status_code, shown.headers["Access-Control-Allow-Origin"]) == (200, UI)
    assert "ETag" in shown.headers["Access-Control-Expose-Headers"]
    problem = http.get("/api/v1/patterns", headers={"Origin": UI})
    assert (problem.status_code, problem.headers["Access-Control-Allow-Origin"]) == (401, UI), "problems can be read, too"


@pytest.mark.parametrize("origin", ["https://other.example", "http://ui.example", "https://ui.example:8443", "null"])
def test_pages_of_other_sites_may_not(http: httpx2.Client, origin: str) -> None:
    asked = {"Origin": origin, "Access-Control-Request-Method": "GET", "X-API-Key": "bob"}
    for method in ("OPTIONS", "GET"):
        answer = http.request(method, "/api/v1/patterns", headers=asked)
        assert (answer.status_code, answer.json()["code"]) == (403, "foreign-origin")
        assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize("origin", ["*", "ui.example", "https://ui.example/app", "ftp://ui.example", "https://", "null"])
def test_what_is_not_an_origin_is_refused_as_a_setting(origin: str) -> None:
    with pytest.raises(ValueError, match="is not an origin of pages"):
        AdminApiSettings(insecure=True, cors_origins=[origin])


@given(
    names=st.text("pq", max_size=25),
    before=st.integers(0, 25),
    back=st.integers(1, 12),
    most=st.integers(1, 4),
    seen=st.integers(0, 25),
)
def test_who_follows_all_patterns_gets_every_match_once(names: str, before: int, back: int, most: int, seen: int) -> None:
    """From memory or from the log, in one partition or several, after any event that was seen."""
    log = MemoryLog()
    log.admin().ensure(TOPICS.of_deployment(partitions=2))
    for number, name in enumerate(names[:before]):
        report(log, name, number)
    recent = RecentMatches(most_bytes=most * 400)
    feed = MatchFeed(log, TOPICS, SystemClock(), recent, back=back, linger_seconds=0.0)
    feed.open()

    def read(places: Places) -> list[tuple[str, str]]:
        following, found = FollowingAll(log, TOPICS.matches, recent, places), []
        while taken := following.take():
            found += [(str(each.place), each.body.decode().split('"')[3]) for each in taken]
        return found

    for number, name in enumerate(names[before:], start=before):
        report(log, name, number)
    feed.step()
    everything = read(Places({}))
    assert sorted(int(number) for _, number in everything) == list(range(len(names)))
    for name in "pq":
        own = [int(number) for _, number in everything if names[int(number)] == name]
        assert own == sorted(own)
    if seen < len(everything):
        rest = read(Places.of(everything[seen][0]))
        assert sorted(number for _, number in rest) == sorted(number for _, number in everything[seen + 1 :])
