"""Streaming graph queries over HTTP: registered in both languages, validated, tried and explained as patterns are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.graph_query import GraphQuery
from graphtide_core.ids import StreamName
from graphtide_core.plans import Derivation, Rewriting
from graphtide_core.ports.log import Message
from graphtide_query import parse
from graphtide_query.families import PlannerOptions
from graphtide_query.families.algebra.planning import choose_plan
from graphtide_wire import control
from graphtide_wire.plans import form_of
from graphtide_wire.reads_form import LookbackForm, ReadsForm
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from graphtide_wire.plans import PlanForm

    from conftest import Deployment

RULES = "QUERY p\nnear(x, y) <- follows+(x, y), likes(y, z).\nON s WINDOW(5m) SLIDE(1m)"
GCORE = """PATH liked = (x)-/<:follows+>/->(y), (y)-[e:likes {stars: 5}]->(z)
CONSTRUCT (a)-[:p]->(b)
MATCH (a)-/<~liked>/->(b) ON s WINDOW(5m) SLIDE(1m)"""
ROUND_TRIP = (RULES, GCORE)
TOPICS = Topics()


def register(deployment: Deployment, text: str = RULES, **more: str) -> Any:
    return deployment.http.post("/api/v1/patterns", json={"text": text, **more})


@pytest.mark.parametrize(("text", "attributes"), [(RULES, ()), (GCORE, ("stars",))])
def test_a_query_in_either_language_is_registered_with_what_it_reads(
    deployment: Deployment, text: str, attributes: tuple[str, ...]
) -> None:
    assert register(deployment, text).status_code == 201
    (record,) = deployment.registered()
    assert record is not None
    lookback = LookbackForm("5m", closed=True, rounded_up=True)
    assert record.reads == ReadsForm(("s",), lookback, ("follows", "likes"), attributes)


@pytest.mark.parametrize(("engine", "status"), [("s-path", 201), ("delta-tree", 201), ("auto", 201), ("timing", 422)])
def test_an_engine_is_one_of_its_family(deployment: Deployment, engine: str, status: int) -> None:
    answer = register(deployment, engine=engine)
    assert answer.status_code == status
    assert status == 201 or answer.json()["code"] == "unknown-engine"


@pytest.mark.parametrize("text", ROUND_TRIP)
def test_a_valid_text_is_summed_up_by_its_results(deployment: Deployment, text: str) -> None:
    found = deployment.http.post("/api/v1/patterns:validate", json={"text": text}).json()
    (pattern,) = found["patterns"]
    assert (pattern["name"], pattern["stream"], pattern["window"]) == ("p", "s", "5m")
    assert pattern["results"] == (["near"] if text == RULES else ["p"])
    assert parse(pattern["canonical"]) == parse(text)


SEVERAL = """QUERY q
INPUT a = ()-[:a]->() ON s WINDOW(5m)
INPUT b = ()-[:b]->() ON other WINDOW(5m)
near(x, z) <- a(x, y), b(y, z)."""
MIXED = """QUERY q
INPUT a = ()-[:a]->() ON s WINDOW(5m)
INPUT b = ()-[:b]->() ON s WINDOW(5)
near(x, z) <- a(x, y), b(y, z)."""
SELF = "GRAPH VIEW v AS (\nCONSTRUCT (x)-[:near]->(y)\nMATCH (x)-[:a]->(y) ON v WINDOW(5m))"


@pytest.mark.parametrize(
    ("text", "line", "reason", "hint"),
    [
        (MIXED, 3, "windows and slides of time and of ticks", "give all of them a unit"),
        (SELF, 3, "views depend on each other in a circle: 'v' reads 'v'", "a view reads streams"),
        ("QUERY q near(x, y) <- a+(x, y)\nON s WINDOW(5m)", 2, "", ""),
    ],
)
def test_what_services_do_not_answer_is_refused_with_its_place(
    empty_deployment: Deployment, text: str, line: int, reason: str, hint: str
) -> None:
    answer = register(empty_deployment, text)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["line"]) == (422, "invalid-pattern", line)
    assert reason in problem["detail"]
    assert problem["source_line"] == text.split("\n")[line - 1]
    assert problem["column"] >= 1
    assert hint in problem.get("hint", "")
    assert empty_deployment.registered() == []
    found = empty_deployment.http.post("/api/v1/patterns:validate", json={"text": text}).json()
    assert (found["valid"], found["error"]["line"]) == (False, line)


def view(name: str, of: str) -> str:
    return f"GRAPH VIEW {name} AS (\nCONSTRUCT (x)-[:near]->(y)\nMATCH (x)-[:near]->(y) ON {of} WINDOW(5m))"


def test_a_circle_of_views_is_refused_where_the_last_one_closes_it_and_not_before(deployment: Deployment) -> None:
    assert register(deployment, view("one", "three")).status_code == 201
    assert register(deployment, view("two", "one")).status_code == 201
    answer = register(deployment, view("three", "two"))
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["line"]) == (409, "view-circle", 3)
    assert problem["detail"].count("reads") == 3
    assert len(deployment.registered()) == 2
    assert register(deployment, view("three", "s")).status_code == 201
    answer = deployment.http.put("/api/v1/patterns/three", json={"text": view("three", "two")}, headers={"If-Match": "*"})
    assert (answer.status_code, answer.json()["code"]) == (409, "view-circle")
    query = "QUERY four far(x, y) <- near+(x, y). ON three WINDOW(5m)"
    assert register(deployment, query).status_code == 201, "what reads a view and is none closes no circle"


READERS = {
    "chain": "PATTERN chain MATCH (x)-[a:near]->(y)-[b:near]->(z) ON one WINDOW 10",
    "kept": "PATTERN kept MATCH (x)-[a:near]->(y) UNDER DUAL SIMULATION ON one WINDOW 10",
    "seen": "PATTERN seen SEQ(a:near, b:near) ON one WITHIN 10",
    "far": "QUERY far far(x, y) <- near+(x, y). ON one WINDOW(5m)",
    "both": SEVERAL.replace("QUERY q", "QUERY both").replace("ON other", "ON one"),
    "two": view("two", "one"),
}
"""Readers of the view `one`: patterns of every family, a query over two streams and a view."""


@pytest.mark.parametrize("way", ["DELETE", "PUT", "PATCH"])
def test_a_view_that_is_read_goes_only_by_force_and_then_its_readers_fail(deployment: Deployment, way: str) -> None:
    assert register(deployment, view("one", "s")).status_code == 201
    for text in READERS.values():
        assert register(deployment, text).status_code == 201
    assert register(deployment, "PATTERN other MATCH (x)-[a:near]->(y) ON s WINDOW 10").status_code == 201
    before = deployment.registered()
    body = {"text": "QUERY one far(x, y) <- near+(x, y). ON s WINDOW(5m)"}

    def lose(query: str) -> Any:
        given = None if way == "DELETE" else body
        return deployment.http.request(way, f"/api/v1/patterns/one{query}", headers={"If-Match": "*"}, json=given)

    refused = lose("")
    assert (refused.status_code, refused.json()["code"]) == (409, "view-in-use")
    assert all(repr(name) in refused.json()["detail"] for name in READERS)
    assert "other" not in refused.json()["detail"]
    assert deployment.registered() == before
    assert lose("?force=true").is_success
    for name in READERS:
        found = deployment.http.get(f"/api/v1/patterns/{name}").json()
        assert (found["state"], found["reason"]) == ("failed", "it reads the view 'one', which was deleted")
    assert deployment.http.get("/api/v1/patterns/other").json()["state"] == "pending"
    resumed = deployment.http.post("/api/v1/patterns/chain:resume", headers={"If-Match": "*"}).json()
    assert (resumed["state"], resumed["reason"]) == ("pending", None)


def test_a_view_is_replaced_by_another_view_and_deleted_when_its_readers_are_gone(deployment: Deployment) -> None:
    assert register(deployment, view("one", "s")).status_code == 201
    assert register(deployment, READERS["chain"]).status_code == 201
    other = {"text": view("one", "t")}
    assert deployment.http.put("/api/v1/patterns/one", json=other, headers={"If-Match": "*"}).status_code == 200
    assert deployment.http.get("/api/v1/patterns/chain").json()["state"] == "pending"
    assert deployment.http.delete("/api/v1/patterns/chain", headers={"If-Match": "*"}).status_code == 204
    assert deployment.http.delete("/api/v1/patterns/one", headers={"If-Match": "*"}).status_code == 204


def test_queries_are_tried_beside_patterns_without_anything_registered(deployment: Deployment) -> None:
    text = "QUERY p near(x, y) <- pays+(x, y). ON s WINDOW(10) PATTERN q MATCH (x)-[e:pays]->(y) ON s WINDOW 10"
    edges = [{"ts": 1, "label": "pays", "src": "v", "dst": "w"}, {"ts": 3, "label": "pays", "src": "w", "dst": "u"}]
    found = deployment.http.post("/api/v1/patterns:simulate", json={"text": text, "edges": edges}).json()
    emitted = sorted((each["src"], each["dst"], each["valid"]) for each in found["matches"] if each["query"] == "p")
    assert emitted == [("v", "u", [3, 11]), ("v", "w", [1, 11]), ("w", "u", [3, 13])]
    assert sum(each["query"] == "q" for each in found["matches"]) == 2
    assert found["engines"] == {"p": "s-path", "q": found["engines"]["q"]}


def publish(deployment: Deployment, plan: PlanForm) -> None:
    record = control.PlanRecord("p", 1, 1, "s-path", "matcher_algebra", 0, plan, control.PatternText(RULES), "running")
    deployment.write(Topics().plans, b"p", control.encode_plan(record))
    deployment.say("running", service="matcher_algebra")
    deployment.until(lambda: deployment.state() == "running")


def test_the_plan_is_that_which_was_published_with_all_that_it_was_chosen_from(deployment: Deployment) -> None:
    register(deployment)
    (query,) = parse(RULES)
    assert isinstance(query, GraphQuery)
    plan = choose_plan(query, PlannerOptions())
    publish(deployment, form_of(plan.physical, plan.considered))
    found = deployment.http.get("/api/v1/patterns/p/plan").json()
    assert (found["engine"], found["counts"]["matches"]) == ("s-path", 2)
    assert sum(each["is_chosen"] for each in found["plans"]) == 1
    assert found["plans"] == sorted(found["plans"], key=lambda each: each["nanoseconds"])
    text = deployment.http.get("/api/v1/patterns/p/plan", params={"format": "text"}).text
    assert "PATH[:follows+]" in text


def test_a_plan_that_leads_nowhere_is_shown_as_none(deployment: Deployment) -> None:
    register(deployment)
    publish(deployment, form_of(Derivation(rewritings=(Rewriting("inline concatenation", 70),))))
    answer = deployment.http.get("/api/v1/patterns/p/plan")
    assert (answer.status_code, answer.json()["code"]) == (404, "no-plan")
    assert "does not apply in place 70" in answer.json()["detail"]


def test_a_view_has_a_stream_that_takes_no_edges_from_outside(deployment: Deployment) -> None:
    assert register(deployment, view("one", "s")).status_code == 201
    topics, one = deployment.log.admin().topics(), StreamName("one")
    assert {TOPICS.ordered(one), TOPICS.dead_letters(one)} <= set(topics)
    assert TOPICS.raw(one) not in topics
    # A reader of it makes no topic that could take edges from outside.
    assert register(deployment, "PATTERN p MATCH (x)-[:one]->(y) ON one WINDOW 10").status_code == 201
    assert TOPICS.raw(one) not in deployment.log.admin().topics()
    answer = deployment.http.delete("/api/v1/streams/one")
    assert (answer.status_code, answer.json()["code"]) == (409, "stream-in-use")


def test_a_view_takes_over_a_stream_that_was_made_for_its_readers_and_none_that_has_edges(deployment: Deployment) -> None:
    assert register(deployment, "PATTERN p MATCH (x)-[:one]->(y) ON one WINDOW 10").status_code == 201
    assert register(deployment, view("one", "s")).status_code == 201
    assert TOPICS.raw(StreamName("one")) not in deployment.log.admin().topics()
    deployment.log.admin().ensure(TOPICS.of_stream(StreamName("two")))
    deployment.writer.write([Message(TOPICS.raw(StreamName("two")), None, b"an edge", partition=0)])
    answer = register(deployment, view("two", "s"))
    assert (answer.status_code, answer.json()["code"]) == (409, "stream-exists")
    assert TOPICS.raw(StreamName("two")) in deployment.log.admin().topics()


def test_a_query_over_several_streams_starts_where_that_ends_which_they_are_merged_to(deployment: Deployment) -> None:
    s = StreamName("s")
    deployment.log.admin().ensure(TOPICS.of_stream(s))
    deployment.writer.write([Message(TOPICS.ordered(s), None, edges, partition=0) for edges in (b"some", b"edges")])
    assert register(deployment, SEVERAL).status_code == 201
    (record,) = deployment.registered()
    assert record is not None
    assert (record.stream, record.reads.streams, record.start) == ("other.s", ("s", "other"), 0)
    assert record.source_ends == (2, 0)
    topics, merged = deployment.log.admin().topics(), StreamName("other.s")
    assert {TOPICS.ordered(merged), TOPICS.raw(StreamName("s")), TOPICS.raw(StreamName("other"))} <= set(topics)
    # Too many together have a name that is too long for a log.
    inputs = " ".join(f"INPUT i{n} = ()-[:a]->() ON {'s' * 60}{n} WINDOW(5m)" for n in range(5))
    text = f"QUERY wide {inputs} near(x, y) <- {', '.join(f'i{n}(x, y)' for n in range(5))}."
    answer = register(deployment, text)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-pattern")
    assert "merge fewer streams" in answer.json()["detail"]


def test_a_view_is_called_as_a_stream_may_be(deployment: Deployment) -> None:
    answer = register(deployment, view("Upper", "s"))
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-pattern")
    assert "is not a name of a stream" in answer.json()["detail"]
