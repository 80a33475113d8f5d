"""Patterns are registered, changed and deleted over HTTP, and say how they stand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from graphtide_admin_api.application.view import asked_names
from graphtide_admin_api.domain.placement import Placement
from graphtide_admin_api.domain.registration import Moment, PatternRequest, apply_change, register
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message
from graphtide_core.statistics import DegreeMoments, EdgeType, StatisticsSnapshot
from graphtide_query.known_names import AskedNames
from graphtide_testing.addresses import address
from graphtide_wire import statistics
from graphtide_wire.match_counts import CountsRecord, encode_counts
from graphtide_wire.reads_form import LookbackForm, ReadsForm
from graphtide_wire.topics import Topics
from msgspec.structs import replace

if TYPE_CHECKING:
    from conftest import Deployment

TEXT = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10"
OTHER = "PATTERN p MATCH (a)-[x:owes]->(b) ON s WINDOW 10"
ANY = {"If-Match": "*"}
TOPICS = Topics()
AT = datetime(2024, 1, 1, tzinfo=UTC)


def test_a_pattern_is_registered_where_its_stream_ends(deployment: Deployment) -> None:
    deployment.log.admin().ensure(TOPICS.of_stream(StreamName("s")))
    deployment.writer.write([Message(TOPICS.ordered(StreamName("s")), None, b"some edges", partition=0)])
    answer = deployment.http.post("/api/v1/patterns", json={"text": TEXT, "engine": "timing"})
    assert answer.status_code == 201
    assert answer.headers["Location"] == "/api/v1/patterns/p"
    (record,) = deployment.registered()
    assert record is not None
    assert (record.name, record.version, record.stream, record.start, record.options.engine) == ("p", 1, "s", 1, "timing")
    assert answer.headers["ETag"] == f'"{record.etag}"'
    assert deployment.http.get("/api/v1/patterns/p").json() == answer.json()
    assert [each["name"] for each in deployment.http.get("/api/v1/patterns?stream=s").json()["patterns"]] == ["p"]
    assert deployment.http.get("/api/v1/patterns?stream=t").json() == {"patterns": [], "next": None}


def test_a_name_that_is_taken_is_refused(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    answer = deployment.http.post("/api/v1/patterns", json={"text": OTHER})
    assert (answer.status_code, answer.json()["code"]) == (409, "exists")
    assert len(deployment.registered()) == 1


def test_a_text_that_is_wrong_is_refused_with_its_place(deployment: Deployment) -> None:
    answer = deployment.http.post("/api/v1/patterns", json={"text": "PATTERN p\nMATCH (a)-[x]>(b) ON s WINDOW 10"})
    assert answer.status_code == 422
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["code"], problem["line"], problem["title"]) == ("invalid-pattern", 2, "Unprocessable Entity")
    assert problem["source_line"].startswith("MATCH")
    assert problem["expected"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"text": TEXT + "\n" + TEXT.replace("PATTERN p", "PATTERN q")}, "invalid-pattern"),
        ({"text": TEXT.replace("ON s", "ON Streams")}, "invalid-pattern"),
        ({"text": TEXT.replace("PATTERN p", "PATTERN `a/b`")}, "invalid-pattern"),
        ({"text": TEXT, "engine": "guess"}, "unknown-engine"),
        ({"text": TEXT, "limits": {"policy": "hope"}}, "invalid-request"),
        ({"text": TEXT, "colour": "red"}, "invalid-request"),
        ({"text": 7}, "invalid-request"),
        ({"text": "x" * 100_001}, "invalid-request"),
        ([], "invalid-request"),
    ],
)
def test_what_cannot_be_registered_is_refused(empty_deployment: Deployment, body: object, code: str) -> None:
    answer = empty_deployment.http.post("/api/v1/patterns", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert empty_deployment.registered() == []


def test_a_window_that_counts_edges_reads_those_of_every_label(deployment: Deployment) -> None:
    text = "PATTERN p MATCH (a)-[x:pays]->(b) ON s WINDOW 500 EDGES"
    assert deployment.http.post("/api/v1/patterns", json={"text": text}).status_code == 201
    (record,) = deployment.registered()
    assert record is not None
    assert record.reads == ReadsForm(("s",), LookbackForm("0", edges=500), None, ())


def test_another_text_is_a_new_version_and_other_limits_are_not(deployment: Deployment) -> None:
    first = deployment.http.put("/api/v1/patterns/p", json={"text": TEXT})
    assert first.status_code == 201
    second = deployment.http.put("/api/v1/patterns/p", json={"text": OTHER}, headers={"If-Match": first.headers["ETag"]})
    assert (second.status_code, second.json()["version"]) == (200, 2)
    third = deployment.http.patch("/api/v1/patterns/p", json={"limits": {"partial_matches": 9, "policy": "shed"}}, headers=ANY)
    assert (third.json()["version"], third.json()["text"], third.json()["limits"]["partial_matches"]) == (2, OTHER, 9)
    assert len({each.headers["ETag"] for each in (first, second, third)}) == 3


def test_annotations_change_without_a_new_version(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    deployment.writer.write([Message(TOPICS.ordered(StreamName("s")), None, b"some edges", partition=0)])
    text = TEXT + " DESCRIPTION 'money' SEVERITY high TAGS 'fraud' MESSAGE '{a.id} to {c.id}'"
    changed = deployment.http.patch("/api/v1/patterns/p", json={"text": text}, headers=ANY).json()
    assert (changed["version"], changed["start"], changed["text"]) == (1, 0, text)
    said = ("money", "high", ["fraud"], "{a.id} to {c.id}")
    assert tuple(changed[each] for each in ("description", "severity", "tags", "message")) == said
    assert changed == deployment.http.get("/api/v1/patterns/p").json()
    # Another graph is another version, whatever its annotations.
    again = deployment.http.patch("/api/v1/patterns/p", json={"text": OTHER + " SEVERITY low"}, headers=ANY).json()
    assert (again["version"], again["start"], again["severity"], again["tags"]) == (2, 1, "low", [])
    plain = deployment.http.patch("/api/v1/patterns/p", json={"text": OTHER}, headers=ANY).json()
    assert (plain["version"], plain["severity"]) == (2, None)


def test_what_a_pattern_reads_is_written_with_its_text(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    other = "PATTERN p MATCH (a)-[x]->(b) WHERE x.amount > 5 ON s WINDOW 2h"
    deployment.http.patch("/api/v1/patterns/p", json={"text": other}, headers=ANY)
    deployment.http.patch("/api/v1/patterns/p", json={"engine": "timing"}, headers=ANY)
    first, second, third = [each.reads for each in deployment.registered() if each is not None]
    assert first == ReadsForm(("s",), LookbackForm("10"), ("pays",), ())
    assert second == third == ReadsForm(("s",), LookbackForm("2h"), None, ("amount",))


def test_a_text_that_is_put_again_is_written_anew_where_it_reads_something_else() -> None:
    """As a later release may find, without another version of the pattern."""
    moment, placement = Moment(AT, {"s": 7}), Placement(StreamName("s"))
    first = register(PatternRequest(TEXT), 1, moment, placement)
    older = replace(first, reads=ReadsForm(("s",), LookbackForm("5"), ("pays",), ()))
    again = apply_change(older, PatternRequest(TEXT), 2, moment, placement)
    assert (again.reads, again.version, again.start) == (first.reads, 1, 7)


def test_a_change_that_was_overtaken_is_refused(deployment: Deployment) -> None:
    seen = deployment.http.post("/api/v1/patterns", json={"text": TEXT}).headers["ETag"]
    deployment.http.patch("/api/v1/patterns/p", json={"engine": "timing"}, headers=ANY)
    for answer in (
        deployment.http.put("/api/v1/patterns/p", json={"text": OTHER}, headers={"If-Match": seen}),
        deployment.http.patch("/api/v1/patterns/p", json={"engine": "filtering"}, headers={"If-Match": seen}),
        deployment.http.delete("/api/v1/patterns/p", headers={"If-Match": seen}),
        deployment.http.post("/api/v1/patterns/p:pause", headers={"If-Match": seen}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (412, "precondition-failed")
    assert deployment.http.get("/api/v1/patterns/p").json()["engine"] == "timing"


def test_a_change_says_what_it_has_seen(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    for answer in (
        deployment.http.put("/api/v1/patterns/p", json={"text": OTHER}),
        deployment.http.patch("/api/v1/patterns/p", json={"engine": "timing"}),
        deployment.http.delete("/api/v1/patterns/p"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (428, "precondition-required")


def test_a_pattern_that_is_deleted_is_gone_and_one_of_its_name_has_a_later_version(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    assert deployment.http.delete("/api/v1/patterns/p", headers=ANY).status_code == 204
    assert deployment.registered()[-1] is None
    for answer in (
        deployment.http.get("/api/v1/patterns/p"),
        deployment.http.delete("/api/v1/patterns/p", headers=ANY),
        deployment.http.patch("/api/v1/patterns/p", json={}, headers=ANY),
        deployment.http.post("/api/v1/patterns/p:resume"),
        deployment.http.get("/api/v1/patterns/p/plan"),
        deployment.http.get("/api/v1/patterns/p/matches"),
        deployment.http.get("/api/v1/patterns/p/matches:stream"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    assert deployment.http.post("/api/v1/patterns", json={"text": TEXT}).json()["version"] == 2


def test_a_change_that_changes_nothing_writes_nothing(deployment: Deployment) -> None:
    before = deployment.http.post("/api/v1/patterns", json={"text": TEXT}).json()
    assert deployment.http.patch("/api/v1/patterns/p", json={"text": TEXT}, headers=ANY).json() == before
    assert deployment.http.post("/api/v1/patterns/p:resume").json() == before
    assert len(deployment.registered()) == 1


def test_a_pause_ends_where_the_stream_ends_then(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    paused = deployment.http.post("/api/v1/patterns/p:pause").json()
    assert (paused["state"], paused["wanted"], paused["start"]) == ("paused", "paused", 0)
    deployment.writer.write([Message(TOPICS.ordered(StreamName("s")), None, b"some edges", partition=0)])
    resumed = deployment.http.post("/api/v1/patterns/p:resume").json()
    assert (resumed["wanted"], resumed["start"], resumed["version"]) == ("active", 1, 1)


def test_matches_count_as_they_were_reported_since_the_name_was_registered(deployment: Deployment) -> None:
    def shown() -> int:
        return int(deployment.http.get("/api/v1/patterns/p").json()["figures"]["matches"])

    registered = deployment.http.post("/api/v1/patterns", json={"text": TEXT}).json()
    deployment.publish()
    deployment.say("running")
    deployment.until(lambda: deployment.state() == "running")
    version = registered["version"]
    counts = CountsRecord("p", {version - 1: 5, version: 2, version + 1: 4})
    deployment.write(TOPICS.counts, b"p", encode_counts(counts))
    deployment.until(lambda: shown() == 6)
    deployment.write(TOPICS.counts, b"p", None)
    deployment.until(lambda: shown() == 0)


def test_a_pattern_says_how_it_stands(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    assert deployment.state() == "pending"
    deployment.publish()
    deployment.say("running")
    deployment.until(lambda: deployment.state() == "running")
    shown = deployment.http.get("/api/v1/patterns/p").json()
    assert shown["placement"] == {"engine": "timing", "service": "matcher_timing", "shard": 0, "epoch": 1}
    assert (shown["figures"]["matches"], shown["figures"]["position"]) == (0, 3), "what a host counts may not be reported"
    deployment.say("failed", reason="it reached a limit of its state")
    deployment.until(lambda: deployment.state() == "failed")
    assert deployment.http.get("/api/v1/patterns/p").json()["reason"] == "it reached a limit of its state"


def test_a_pattern_that_a_limit_ended_continues_as_its_next_version(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    deployment.publish()
    deployment.say("paused", reason="it reached a limit of its state")
    deployment.until(lambda: deployment.state() == "paused")
    resumed = deployment.http.post("/api/v1/patterns/p:resume").json()
    assert (resumed["version"], resumed["state"]) == (2, "pending")


def test_a_pattern_that_the_planner_refuses_says_why(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    deployment.say("failed", reason="no service runs the engine", service="planner")
    deployment.until(lambda: deployment.state() == "failed")
    assert deployment.http.get("/api/v1/patterns/p").json()["reason"] == "no service runs the engine"


def test_a_text_is_validated_without_being_registered(deployment: Deployment) -> None:
    good = deployment.http.post("/api/v1/patterns:validate", json={"text": TEXT}).json()
    assert (good["valid"], good["patterns"][0]["edges"], good["patterns"][0]["window"]) == (True, ["x", "y"], "10")
    bad = deployment.http.post("/api/v1/patterns:validate", json={"text": "PATTERN"}).json()
    assert (bad["valid"], bad["error"]["line"]) == (False, 1)
    assert deployment.registered() == []


def test_a_pattern_is_tried_out_on_a_few_edges_in_any_order(deployment: Deployment) -> None:
    edges = [
        {"ts": 2, "src": "b", "dst": "c", "label": "pays"},
        {"ts": 1, "src": "a", "dst": "b", "label": "pays"},
        {"ts": "soon"},
    ]
    found = deployment.http.post("/api/v1/patterns:simulate", json={"text": TEXT, "edges": edges}).json()
    assert [each["match"]["vertices"] if "match" in each else each["vertices"] for each in found["matches"]] == [
        {"a": "a", "b": "b", "c": "c"}
    ]
    assert [each["number"] for each in found["rejected"]] == [3]
    assert found["truncated"] is False
    empty = deployment.http.post("/api/v1/patterns:simulate", json={"text": TEXT, "edges": []}).json()
    assert empty["matches"] == []


def test_a_trial_of_much_too_many_matches_is_cut_off(deployment: Deployment) -> None:
    edges = [{"ts": n, "src": f"a{n}", "dst": "b", "label": "pays"} for n in range(200)]
    edges += [{"ts": 300 + n, "src": "b", "dst": f"c{n}", "label": "pays"} for n in range(200)]
    text = TEXT.replace("WINDOW 10", "WINDOW 10000")
    found = deployment.http.post("/api/v1/patterns:simulate", json={"text": text, "edges": edges}).json()
    assert (len(found["matches"]), found["truncated"]) == (1_000, True)


def test_a_plan_is_explained_with_what_its_host_counted(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": TEXT})
    assert deployment.http.get("/api/v1/patterns/p/plan").json()["code"] == "no-plan"
    deployment.publish()
    deployment.say("running")
    deployment.until(lambda: deployment.state() == "running")
    shown = deployment.http.get("/api/v1/patterns/p/plan").json()
    assert (shown["engine"], shown["counts"]["partial_matches"], shown["counts"]["suppressed"]) == ("timing", 5, 4)
    assert [node["name"] for node in shown["nodes"]] == ["L1.1", "L1.2", "match"]
    assert deployment.http.get("/api/v1/patterns/p/plan?format=text").text.startswith("p: engine timing")
    assert deployment.http.get("/api/v1/patterns/p/plan?format=dot").text.startswith("digraph")
    statistics = deployment.http.get("/api/v1/patterns/p/statistics").json()
    assert (statistics["figures"]["state_bytes"], statistics["figures"]["suppressed"], statistics["behind"]) == (700, 4, 0)


def test_what_may_be_misspelt_is_reported_as_far_as_statistics_know(deployment: Deployment) -> None:
    def emitted(stream: str, *labels: str) -> None:
        snapshot = StatisticsSnapshot(edges=10, types={EdgeType(None, label, None): 10 for label in labels})
        record = statistics.StatisticsRecord(stream, 1, snapshot)
        deployment.write(TOPICS.statistics, stream.encode(), statistics.encode_statistics(record))

    def warnings() -> list[str]:
        found: list[str] = deployment.http.get("/api/v1/patterns/p").json()["warnings"]
        return found

    assert deployment.http.post("/api/v1/patterns", json={"text": TEXT}).json()["warnings"] == []
    emitted("payments", "pay")
    emitted("s", "pay", "asks")
    deployment.until(lambda: warnings() == ["no edge of label 'pays' among the last 10 edges; did you mean pay?"])
    (listed,) = deployment.http.get("/api/v1/patterns").json()["patterns"]
    assert listed["warnings"] == warnings()
    emitted("s", "pays")
    deployment.until(lambda: warnings() == [])
    other = deployment.http.post(
        "/api/v1/patterns", json={"text": TEXT.replace("PATTERN p", "PATTERN q").replace("ON s", "ON paiments")}
    )
    assert other.json()["warnings"] == ["no edge of stream 'paiments' was seen; did you mean payments?"]


def test_attributes_that_no_edge_had_are_reported_until_one_has_them(deployment: Deployment) -> None:
    text = "PATTERN p MATCH (a)-[x]->(b) WHERE x.amout > 5 AND x.ts > 3 ON s WINDOW 10"

    def emitted(*attributes: str) -> None:
        snapshot = StatisticsSnapshot(edges=10, types={EdgeType(None, "pays", None): 10})
        record = statistics.StatisticsRecord("s", 1, snapshot, attributes=attributes)
        deployment.write(TOPICS.statistics, b"s", statistics.encode_statistics(record))

    def warnings() -> list[str]:
        found: list[str] = deployment.http.get("/api/v1/patterns/p").json()["warnings"]
        return found

    assert deployment.http.post("/api/v1/patterns", json={"text": text}).json()["warnings"] == []
    emitted("amount", "currency")
    deployment.until(lambda: warnings() == ["no edge with attribute 'amout' among the last 10 edges; did you mean amount?"])
    emitted("amount", "amout")
    deployment.until(lambda: warnings() == [])


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN p MATCH (a)-[x]->(b) WHERE x.amount > '90' ON s WINDOW 10",
        "PATTERN p SEQ(x: A, y: B) WHERE y.amount = '90' ON s WITHIN 10",
        "QUERY p INPUT i = ()-[e]->() ON s WINDOW(10) WHERE e.amount IN ['90'] r(x, y) <- i(x, y).",
    ],
)
def test_a_warning_names_a_text_that_is_compared_with_numbers(deployment: Deployment, text: str) -> None:
    assert deployment.http.post("/api/v1/patterns", json={"text": text}).json()["warnings"] == []
    deployment.http.put("/api/v1/streams/s/schema", json={"attributes": {"amount": "number"}})
    (warning,) = deployment.http.get("/api/v1/patterns/p").json()["warnings"]
    assert warning.startswith("attribute 'amount' is compared with a text, and its values are numbers: that is never true")


def test_an_unreadable_text_has_no_warnings() -> None:
    assert asked_names("PATTERN") == asked_names("") == AskedNames()


@pytest.mark.parametrize("name", ["😀", "é", "a b", "a?b#c%", "x:y", "a:pause:b"])
def test_a_pattern_is_found_at_the_address_that_its_registration_gives(deployment: Deployment, name: str) -> None:
    answer = deployment.http.post("/api/v1/patterns", json={"text": f"PATTERN `{name}` MATCH (a)-[x]->(b) ON s WINDOW 10"})
    assert answer.status_code == 201
    assert answer.headers["Location"].isascii()
    found = deployment.http.get(answer.headers["Location"])
    assert (found.status_code, found.json()["name"]) == (200, name)
    assert deployment.http.post(answer.headers["Location"] + ":pause").json()["wanted"] == "paused"
    assert deployment.http.delete(answer.headers["Location"], headers={"If-Match": "*"}).status_code == 204


@pytest.mark.parametrize("name", [".", "..", "p:pause", "p:resume", ":backfill", "a/b"])
def test_a_name_that_no_address_could_have_is_refused(empty_deployment: Deployment, name: str) -> None:
    answer = empty_deployment.http.post(
        "/api/v1/patterns", json={"text": f"PATTERN `{name}` MATCH (a)-[x]->(b) ON s WINDOW 10"}
    )
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-pattern")


def test_a_change_is_made_by_a_strong_etag_and_never_by_a_weak_one(deployment: Deployment) -> None:
    etag = deployment.http.post("/api/v1/patterns", json={"text": TEXT}).headers["ETag"]

    def changed(if_match: str) -> int:
        return deployment.http.patch("/api/v1/patterns/p", json={}, headers={"If-Match": if_match}).status_code

    assert [changed(each) for each in (etag, f'"other", {etag}', f"W/{etag}, {etag}", "*")] == [200] * 4
    assert [changed(each) for each in (f"W/{etag}", f'"other", W/{etag}', "W/*", '"*"', "", '"')] == [412] * 6
    for action in ("pause", "resume"):
        refused = deployment.http.post(f"/api/v1/patterns/p:{action}", headers={"If-Match": f"W/{etag}"})
        assert refused.status_code == 412


HALVES = [r'"\ud800"', r'"\udfff"', r'"a\ud83dz"']
NO_JSON = [*HALVES, r'{"\udc00":1}', "NaN", "-Infinity", "1e400", "[" * 100_000]


@pytest.mark.parametrize("value", NO_JSON, ids=range(len(NO_JSON)))
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/patterns", '{"text":%s}'),
        ("POST", "/patterns", '{"text":"","limits":%s}'),
        ("PUT", "/patterns/p", '{"text":"","engine":%s}'),
        ("PATCH", "/patterns/p", '{"engine":%s}'),
        ("POST", "/patterns:validate", '{"text":%s}'),
        ("POST", "/patterns:simulate", '{"text":"","edges":[{"ts":%s}]}'),
        ("POST", "/patterns/p:backfill", '{"engine":%s}'),
    ],
)
def test_what_is_not_json_anywhere_in_a_body_is_a_problem(
    empty_deployment: Deployment, method: str, path: str, body: str, value: str
) -> None:
    json = {"Content-Type": "application/json", "If-Match": "*"}
    answer = empty_deployment.http.request(method, f"/api/v1{path}", content=body % value, headers=json)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")


def test_a_method_that_an_address_does_not_know_is_answered_with_all_that_it_knows(deployment: Deployment) -> None:
    described = deployment.http.get("/openapi.json").json()["paths"]
    for path, operations in described.items():
        known = {method.upper() for method in operations} | ({"HEAD"} if "get" in operations else set())
        for method in {"GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "TRACE"} - known:
            answer = deployment.http.request(method, address(path))
            allowed = set(answer.headers["Allow"].split(", "))
            assert (answer.status_code, allowed) == (405, known), (method, path)


def star(leaves: int) -> str:
    edges = ", ".join(f"(h)-[e{n}:pays]->(v{n})" for n in range(leaves))
    return f"PATTERN p MATCH {edges} ON s WINDOW 10"


def test_a_pattern_whose_parts_can_be_exchanged_is_warned_of(deployment: Deployment) -> None:
    (warning,) = deployment.http.post("/api/v1/patterns", json={"text": star(8)}).json()["warnings"]
    assert warning.startswith("one record may complete 40,320 matches: the edges e0, e1")
    assert deployment.http.get("/api/v1/patterns/p").json()["warnings"] == [warning]


def test_validation_warns_of_what_registration_warns_of(deployment: Deployment) -> None:
    text = f"{star(8)}\n{TEXT.replace('PATTERN p', 'PATTERN q')}"
    found = deployment.http.post("/api/v1/patterns:validate", json={"text": text}).json()
    assert found["valid"]
    (warning,) = found["warnings"]
    assert warning.startswith("pattern 'p': one record may complete 40,320 matches: the edges e0, e1")


def test_a_pattern_is_warned_of_by_the_degrees_of_its_stream(deployment: Deployment) -> None:
    text = "PATTERN p MATCH (h)-[a]->(b), (h)-[c]->(d), (h)-[e]->(f) ON s WINDOW 10"
    validity = {"text": text}
    registered = deployment.http.post("/api/v1/patterns", json={"text": text})
    assert (registered.status_code, registered.json()["warnings"]) == (201, [])
    assert deployment.http.post("/api/v1/patterns:validate", json=validity).json()["warnings"] == []
    snapshot = StatisticsSnapshot(
        edges=1_000,
        vertices=500,
        types={EdgeType(None, "pays", None): 1_000},
        out_degrees=DegreeMoments(vertices=100, total=1_000, squares=50_000, most=200),
        in_degrees=DegreeMoments(vertices=500, total=1_000, squares=2_000, most=2),
    )
    record = statistics.StatisticsRecord("s", 1, snapshot, attributes=())
    deployment.write(TOPICS.statistics, b"s", statistics.encode_statistics(record))
    deployment.publish()
    warning = (
        "one record may complete some 120,000 matches, as the stream's statistics let expect: its busiest vertex, as 'h', has"
    )

    def warnings() -> list[str]:
        found: list[str] = deployment.http.get("/api/v1/patterns/p").json()["warnings"]
        return found

    deployment.until(lambda: len(warnings()) == 1)
    assert warnings()[0].startswith(warning)
    (validated,) = deployment.http.post("/api/v1/patterns:validate", json=validity).json()["warnings"]
    assert validated == f"pattern 'p': {warnings()[0]}"


def test_a_pattern_that_its_limit_would_end_at_its_first_match_is_refused(deployment: Deployment) -> None:
    refused = deployment.http.post("/api/v1/patterns", json={"text": star(10)})
    assert (refused.status_code, refused.json()["code"]) == (422, "too-many-matches")
    assert "would fail at its first match, by its limit of 1,000 steps" in refused.json()["detail"]
    sheds = {"text": star(10), "limits": {"policy": "shed"}}
    assert deployment.http.post("/api/v1/patterns", json=sheds).status_code == 201
    changed = deployment.http.patch("/api/v1/patterns/p", json={"limits": {"policy": "fail"}}, headers={"If-Match": "*"})
    assert changed.json()["code"] == "too-many-matches"
    may = {"limits": {"policy": "fail", "work": 10**9}}
    assert deployment.http.patch("/api/v1/patterns/p", json=may, headers={"If-Match": "*"}).status_code == 200
