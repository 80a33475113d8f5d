"""Acknowledgements and mutes of matches, and matches across patterns."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from graphtide_admin_api.application import marks
from graphtide_testing.wire_examples import record_of
from graphtide_wire import matches, mutes
from graphtide_wire.topics import Topics
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    import pytest

    from conftest import Deployment

TOPICS = Topics()
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = "PATTERN {} MATCH (a)-[x:pays]->(b) ON s WINDOW 10"
SUBJECTS = st.tuples(st.sampled_from([None, "p", "q"]), st.sampled_from([None, "x", "y"]), st.sampled_from([None, -1, 1]))


def body(name: str, number: int, **vertices: str) -> bytes:
    record = {"match_id": f"{number:032x}", "query": name, "kind": "match", "detected_at": number, "vertices": vertices}
    return json.dumps(record).encode()


def report(deployment: Deployment, name: str, number: int, **vertices: str) -> None:
    deployment.writer.write([matches.encode(TOPICS.matches, body(name, number, **vertices), 1, None)])


def list_matches(deployment: Deployment, query: str = "") -> list[Any]:
    found: list[Any] = deployment.http.get(f"/api/v1/matches{query}").json()["matches"]
    return found


def test_matches_of_all_patterns_are_found_by_what_they_bind_and_when(deployment: Deployment) -> None:
    report(deployment, "p", 1, a="x", b="y")
    report(deployment, "q", 2, a="x", b="z")
    report(deployment, "p", 3, a="z", b="z")
    deployment.until(lambda: len(list_matches(deployment)) == 3)

    def numbers(query: str) -> list[int]:
        return [each["match"]["detected_at"] for each in list_matches(deployment, query)]

    assert numbers("") == [3, 2, 1]
    assert numbers("?vertex=x") == [2, 1]
    assert numbers("?vertex=z&pattern=p") == [3]
    assert numbers("?from=2&to=3") == [2]
    assert numbers("?vertex=nobody") == []
    page = deployment.http.get("/api/v1/matches?limit=2").json()
    assert numbers(f"?limit=2&cursor={page['next']}") == [1]


def test_a_match_is_acknowledged_by_name_and_time_until_that_is_taken_back(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT.format("p")})
    report(deployment, "p", 1)
    path = f"/api/v1/patterns/p/matches/{1:032x}/acknowledgement"
    deployment.until(lambda: len(list_matches(deployment)) == 1)
    assert list_matches(deployment)[0]["acknowledgement"] is None
    made = deployment.http.put(path, json={"note": "a test of ours"})
    assert (made.status_code, made.json()["note"], made.json()["by"]) == (200, "a test of ours", "root")
    for of in ("", "?pattern=p"):
        assert list_matches(deployment, of)[0]["acknowledgement"] == made.json()
    shown = deployment.http.get("/api/v1/patterns/p/matches").json()["matches"][0]
    assert shown["acknowledgement"] == made.json()
    assert deployment.http.put(path, json={}).json()["note"] == ""
    assert deployment.http.delete(path).status_code == 204
    assert list_matches(deployment)[0]["acknowledgement"] is None
    assert deployment.http.delete(path).json()["code"] == "not-found"
    assert deployment.http.put("/api/v1/patterns/nobody/matches/1/acknowledgement", json={}).status_code == 404
    assert deployment.http.put("/api/v1/patterns/p/matches/X/acknowledgement", json={}).status_code == 422


def test_a_mute_covers_matches_until_it_ends(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT.format("p")})
    report(deployment, "p", 1, a="x")
    deployment.until(lambda: len(list_matches(deployment)) == 1)
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    made = deployment.http.post("/api/v1/mutes", json={"pattern": "p", "key": {"vertex": "x"}, "until": until, "reason": "r"})
    mute = made.json()
    assert (made.status_code, made.headers["Location"]) == (201, f"/api/v1/mutes/{mute['id']}")
    assert (mute["pattern"], mute["key"], mute["reason"], mute["created_by"]) == ("p", {"vertex": "x"}, "r", "root")
    assert deployment.http.get("/api/v1/mutes").json() == {"mutes": [mute]}
    assert deployment.http.get(made.headers["Location"]).json() == mute
    assert list_matches(deployment)[0]["muted"] == mute["id"]
    assert deployment.http.delete(made.headers["Location"]).status_code == 204
    assert list_matches(deployment)[0]["muted"] is None
    assert deployment.http.delete(made.headers["Location"]).status_code == 404
    for wrong, status in (
        ({"until": "2020-01-01T00:00:00Z"}, 422),
        ({"until": "2090-01-01T00:00:00"}, 422),
        ({"until": 7}, 422),
        ({"pattern": "nobody"}, 404),
        ({"key": {"edge": "x"}}, 422),
        ({"reason": "x" * 3_000}, 422),
    ):
        assert deployment.http.post("/api/v1/mutes", json=wrong).status_code == status, wrong
    assert deployment.http.get("/api/v1/mutes").json() == {"mutes": []}


def test_marks_need_a_scope_of_their_own(deployment: Deployment) -> None:
    for method, path in (("POST", "/mutes"), ("DELETE", "/mutes/1"), ("PUT", "/patterns/p/matches/1/acknowledgement")):
        refused = deployment.http.request(method, f"/api/v1{path}", headers={"X-API-Key": "reader"}, json={})
        assert refused.status_code == 403
        assert "matches:write" in refused.json()["detail"]
    assert deployment.http.get("/api/v1/mutes", headers={"X-API-Key": "reader"}).status_code == 200


def test_mutes_and_acknowledgements_are_bounded(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "MOST_MUTES", 1)
    monkeypatch.setattr(marks, "MOST_ACKNOWLEDGEMENTS", 2)
    assert deployment.http.post("/api/v1/mutes", json={}).status_code == 201
    assert deployment.http.post("/api/v1/mutes", json={}).json()["code"] == "too-many-mutes"
    deployment.http.post("/api/v1/patterns", json={"text": TEXT.format("p")})
    report(deployment, "p", 1)
    deployment.until(lambda: len(list_matches(deployment)) == 1)
    for number in (1, 2, 3):
        deployment.http.put(f"/api/v1/patterns/p/matches/{number:032x}/acknowledgement", json={})
    deployment.until(lambda: list_matches(deployment)[0]["acknowledgement"] is None)


def test_mutes_that_are_over_leave_the_log(deployment: Deployment) -> None:
    over = mutes.MuteRecord(id="1", until=NOW, created_at=NOW, created_by="ann")
    deployment.writer.write([mutes.encode_mute(TOPICS.mutes, over)])
    reader = deployment.log.reader(None)
    (place,) = reader.partitions(TOPICS.mutes)
    deployment.until(lambda: reader.ends([place])[place][1] == 2)
    assert deployment.http.get("/api/v1/mutes").json() == {"mutes": []}


def test_a_mark_that_cannot_be_read_is_none(deployment: Deployment) -> None:
    deployment.write(TOPICS.mutes, b"1", b"{")
    deployment.write(TOPICS.acknowledgements, b"p/1", b"{}")
    assert deployment.http.post("/api/v1/mutes", json={}).status_code == 201


@given(made=st.lists(SUBJECTS, max_size=6), ended=st.sets(st.integers(0, 5)), pattern=st.sampled_from("pq"))
def test_the_index_of_mutes_finds_what_covers_a_match(
    made: list[tuple[str | None, str | None, int | None]], ended: set[int], pattern: str
) -> None:
    known, held = marks.KnownMarks(TOPICS), list[mutes.MuteRecord]()
    for number, (of, vertex, hours) in enumerate(made):
        until = None if hours is None else NOW + timedelta(hours=hours)
        key = None if vertex is None else mutes.MuteKey(vertex)
        mute = mutes.MuteRecord(id=str(number), pattern=of, key=key, until=until, created_at=NOW, created_by="ann")
        messages = [mutes.encode_mute(TOPICS.mutes, mute)]
        if number in ended:
            messages.append(mutes.encode_end(TOPICS.mutes, mute.id))
        else:
            held.append(mute)
        for each in messages:
            known.take(record_of(each)._replace(topic=TOPICS.mutes))
    match = body(pattern, 1, a="x", b="z")
    covering = {mute.id for mute in held if mute.holds(NOW) and mute.covers(pattern, match)}
    found = known.mutes.find(pattern, match, NOW)
    assert found is None if not covering else found is not None and found.id in covering
