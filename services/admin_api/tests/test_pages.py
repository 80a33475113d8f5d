"""Pages: every record once, the newest first, for pages of any size and every kind of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from graphtide_admin_api.application.matches import MatchFeed, RecentMatches, Wanted, older
from graphtide_admin_api.application.pages import Extent, page_of
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, TopicSpec
from graphtide_log.memory import MemoryLog
from graphtide_serving.clock import SystemClock
from graphtide_wire import dead_letters, matches
from graphtide_wire.dead_letters import DeadLetterRecord, Source
from graphtide_wire.place import Places
from graphtide_wire.topics import Topics
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from conftest import Deployment

TOPICS = Topics()
TEXT = "PATTERN {} MATCH (a)-[x:pays]->(b) ON s WINDOW 10"


def all_pages(deployment: Deployment, path: str, of: str) -> list[list[Any]]:
    """Return what every page holds, from the first to the last."""
    pages, cursor = [], None
    while True:
        more = "" if cursor is None else f"{'&' if '?' in path else '?'}cursor={cursor}"
        answer = deployment.http.get(f"/api/v1{path}{more}").json()
        pages.append(answer[of])
        cursor = answer["next"]
        if cursor is None:
            return pages


def numbers(found: list[Any]) -> list[int]:
    return [each["match"]["detected_at"] for each in found]


def test_patterns_come_page_by_page_or_all_at_once(deployment: Deployment) -> None:
    for name in "acbed":
        deployment.http.post("/api/v1/patterns", json={"text": TEXT.format(name)})
    pages = all_pages(deployment, "/patterns?limit=2", "patterns")
    assert [[each["name"] for each in page] for page in pages] == [["a", "b"], ["c", "d"], ["e"]]
    whole = deployment.http.get("/api/v1/patterns").json()
    assert ([each["name"] for each in whole["patterns"]], whole["next"]) == (list("abcde"), None)
    deployment.http.delete("/api/v1/patterns/b", headers={"If-Match": "*"})
    rest = deployment.http.get("/api/v1/patterns?limit=2&cursor=b").json()
    assert [each["name"] for each in rest["patterns"]] == ["c", "d"], "a cursor holds though what it was made of has gone"


def test_all_matches_are_reached_beyond_those_that_are_kept_at_hand(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT.format("p")})
    deployment.report(*range(1, 1_503))
    deployment.report(7, name="other")
    deployment.until(lambda: len(deployment.http.get("/api/v1/patterns/p/matches?limit=1000").json()["matches"]) == 1_000)
    deployment.until(lambda: numbers(deployment.http.get("/api/v1/patterns/p/matches?limit=1").json()["matches"]) == [1_502])
    for limit in (1_000, 400):
        pages = [numbers(page) for page in all_pages(deployment, f"/patterns/p/matches?limit={limit}", "matches")]
        assert [number for page in pages for number in page] == list(range(1_502, 0, -1))
        assert all(len(page) == limit for page in pages[:-1])


def test_matches_are_asked_for_by_the_time_at_which_they_were_detected(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT.format("p")})
    deployment.report(10, 20, 30, 40)
    path = "/api/v1/patterns/p/matches"
    deployment.until(lambda: len(deployment.http.get(path).json()["matches"]) == 4)
    assert numbers(deployment.http.get(f"{path}?from=20&to=40").json()["matches"]) == [30, 20]
    assert numbers(deployment.http.get(f"{path}?from=31").json()["matches"]) == [40]
    assert numbers(deployment.http.get(f"{path}?to=20").json()["matches"]) == [10]
    pages = all_pages(deployment, "/patterns/p/matches?from=10&to=40&limit=2", "matches")
    assert [numbers(page) for page in pages] == [[30, 20], [10]]


def test_dead_letters_of_a_stream_come_page_by_page(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT.format("p")})
    topic = TOPICS.dead_letters(StreamName("s"))
    for number in range(5):
        record = DeadLetterRecord(b"{", "malformed", "no edge", "2024-01-01T00:00:00+00:00", Source(line=number + 1))
        deployment.writer.write([dead_letters.encode(topic, record)])
    pages = all_pages(deployment, "/dead-letters?stream=s&limit=2", "dead_letters")
    assert [[each["place"] for each in page] for page in pages] == [["0-4", "0-3"], ["0-2", "0-1"], ["0-0"]]
    answer = deployment.http.get("/api/v1/dead-letters?limit=2").json()
    assert ([each["place"] for each in answer["dead_letters"]], answer["next"]) == (["0-4", "0-3"], None)
    refused = deployment.http.get("/api/v1/dead-letters?cursor=0-3")
    assert (refused.status_code, refused.json()["code"]) == (400, "bad-cursor")


@pytest.mark.parametrize("cursor", ["", "x", "0-1.", "0-1,1-2", "-1-2", "0-1.a"])
@pytest.mark.parametrize("path", ["/patterns/p/matches?", "/dead-letters?stream=s&"])
def test_a_cursor_that_is_none_is_refused(asked_deployment: Deployment, path: str, cursor: str) -> None:
    asked_deployment.http.post("/api/v1/patterns", json={"text": TEXT.format("p")})
    answer = asked_deployment.http.get(f"/api/v1{path}cursor={cursor}")
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-cursor")


@given(
    written=st.lists(st.tuples(st.sampled_from("pq"), st.integers(0, 2), st.booleans()), max_size=60),
    most=st.integers(1, 7),
    most_looked_at=st.integers(1, 9),
    most_at_once=st.integers(1, 5),
)
def test_pages_hold_every_record_once_with_any_bounds(
    written: list[tuple[str, int, bool]], most: int, most_looked_at: int, most_at_once: int
) -> None:
    log = MemoryLog()
    log.admin().ensure([TopicSpec("t", 3)])
    transactor = log.transactor("id")
    transactor.open()
    for number, (name, partition, is_kept) in enumerate(written):
        # Ends of transactions and what was aborted take offsets, too.
        transactor.begin()
        transactor.write([Message("t", name.encode(), str(number).encode(), partition=partition)])
        if is_kept:
            transactor.commit("g", {})
        else:
            transactor.abort()
    reader, found, cursor = log.reader(None), [], None
    extent = Extent(most, most_looked_at, most_at_once=most_at_once)
    while True:
        page = page_of(reader, "t", cursor, extent, lambda record: record if record.key == b"p" else None)
        assert len(page.found) <= most
        found += [(record.partition, int(record.value or b"")) for record in page.found]
        if page.following is None:
            break
        cursor = Places.of(str(page.following))
    asked = [(partition, number) for number, (name, partition, is_kept) in enumerate(written) if name == "p" and is_kept]
    assert sorted(found) == sorted(asked)
    for partition in range(3):
        own = [number for each, number in found if each == partition]
        assert own == sorted(own, reverse=True)


@given(most=st.integers(1, 5), kept=st.integers(1, 6), back=st.integers(1, 20), patterns=st.text("pq", max_size=20))
def test_pages_continue_in_the_log_where_what_is_at_hand_ends(most: int, kept: int, back: int, patterns: str) -> None:
    log = MemoryLog()
    log.admin().ensure(TOPICS.of_deployment(partitions=2))
    writer = log.writer()
    for number, name in enumerate(patterns):
        body = f'{{"match_id":"{number:032x}","query":"{name}","kind":"match","detected_at":{number}}}'.encode()
        writer.write([matches.encode(TOPICS.matches, body, 1, None)])
    recent = RecentMatches(most=kept)
    feed = MatchFeed(log, TOPICS, SystemClock(), recent, back=back, linger_seconds=0.0)
    feed.open()
    page = recent.page("p", most)
    found = [each.body for each in page.found]
    while page.following is not None:
        page = older(log, TOPICS.matches, Wanted("p"), page.following, most)
        found += [each.body for each in page.found]
    asked = [number for number, name in enumerate(patterns) if name == "p"]
    assert [int(body.rpartition(b":")[2][:-1]) for body in found] == asked[::-1]
