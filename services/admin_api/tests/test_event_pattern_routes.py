"""Event patterns over HTTP: registered, validated, tried and explained as other patterns are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.event_pattern import EventPattern
from graphtide_query import parse
from graphtide_query.families import PlannerOptions
from graphtide_query.families.events.grouping import group_pattern
from graphtide_wire import control
from graphtide_wire.plans import form_of
from graphtide_wire.reads_form import LookbackForm, ReadsForm
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from conftest import Deployment

TEXT = "PATTERN p SEQ(a:failed+, b:success) WHERE count(a) >= 2 AND a.user = b.user ON s WITHIN 5m"


def register(deployment: Deployment, **more: str) -> Any:
    return deployment.http.post("/api/v1/patterns", json={"text": TEXT, **more})


def test_an_event_pattern_is_registered_with_what_it_reads(deployment: Deployment) -> None:
    answer = register(deployment)
    assert answer.status_code == 201
    (record,) = deployment.registered()
    assert record is not None
    assert record.reads == ReadsForm(("s",), LookbackForm("5m", closed=True), ("failed", "success"), ("user",))


@pytest.mark.parametrize(
    ("engine", "status"), [("aggregation", 201), ("auto", 201), ("timing", 422), ("ddst-coloring", 422), ("other", 422)]
)
def test_an_engine_is_one_of_its_family(deployment: Deployment, engine: str, status: int) -> None:
    answer = register(deployment, engine=engine)
    assert answer.status_code == status
    assert status == 201 or answer.json()["code"] == "unknown-engine"


def test_a_valid_text_is_summed_up_by_its_events(deployment: Deployment) -> None:
    found = deployment.http.post("/api/v1/patterns:validate", json={"text": TEXT}).json()
    (pattern,) = found["patterns"]
    assert (pattern["name"], pattern["window"], pattern["events"], pattern["edges"]) == ("p", "5m", ["a", "b"], [])
    assert parse(pattern["canonical"]) == parse(TEXT)


def test_a_pattern_that_no_engine_takes_is_refused_with_its_place(deployment: Deployment) -> None:
    text = "PATTERN p SEQ(a:A, NOT b:B) ON s"
    found = deployment.http.post("/api/v1/patterns:validate", json={"text": text}).json()
    assert not found["valid"]
    assert found["error"]["line"] == 1


def test_events_are_tried_beside_edges_without_anything_registered(deployment: Deployment) -> None:
    text = f"{TEXT} PATTERN q MATCH (x)-[e:pays]->(y) ON s WINDOW 10"
    records = [
        {"ts": 1, "type": "failed", "id": "f1", "user": "ann"},
        {"ts": 2, "type": "failed", "id": "f2", "user": "ann"},
        {"ts": 3, "label": "pays", "id": "e", "src": "x", "dst": "y"},
        {"ts": 4, "type": "success", "id": "s", "user": "ann"},
    ]
    found = deployment.http.post("/api/v1/patterns:simulate", json={"text": text, "edges": records}).json()
    emitted = [(each["query"], each.get("events")) for each in found["matches"]]
    assert emitted == [("q", None), ("p", {"a": ["f1", "f2"], "b": "s"})]
    assert found["engines"]["p"] == "aggregation"
    assert not found["rejected"]


def test_the_plan_is_that_which_the_pattern_would_have_alone_with_what_its_host_counted(deployment: Deployment) -> None:
    register(deployment)
    (pattern,) = parse(TEXT)
    assert isinstance(pattern, EventPattern)
    plan = group_pattern(pattern, PlannerOptions())
    record = control.PlanRecord(
        "p", 1, 1, "aggregation", "matcher_event_pattern", 0, form_of(plan.physical, plan.considered),
        control.PatternText(TEXT), "running",
    )  # fmt: skip
    deployment.write(Topics().plans, b"p", control.encode_plan(record))
    deployment.say("running", service="matcher_event_pattern")
    deployment.until(lambda: deployment.state() == "running")
    found = deployment.http.get("/api/v1/patterns/p/plan").json()
    assert (found["engine"], found["counts"]["matches"]) == ("aggregation", 2)
    text = deployment.http.get("/api/v1/patterns/p/plan", params={"format": "text"}).text
    assert "shared" in text
    assert "failed" in text
