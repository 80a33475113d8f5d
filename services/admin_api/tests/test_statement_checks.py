"""Statements that are tried on samples, the statements that come with graphtide, drawings and texts of patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from graphtide_admin_api.domain.sample import MOST_SAMPLE
from graphtide_admin_api.domain.statement import read_any_statement
from graphtide_query import presets

if TYPE_CHECKING:
    from conftest import Deployment

TEXT = "STREAM s EDGE (src)-[label]->(dst) AT ts IN s"
LINES = """{"ts": 1, "src": "a", "dst": "b", "label": "pays", "amount": 3}
{"ts": "x"}
{"ts": 2, "src": "b", "dst": "c", "label": "owes"}
"""
CSV = "ts,src,dst,label,amount\n1,a,b,pays,3\n2,b,c,owes,\n"


def check(deployment: Deployment, text: str, sample: str) -> Any:
    answer = deployment.http.post("/api/v1/streams:check", json={"text": text, "sample": sample})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_sample_shows_what_a_statement_makes_of_it(deployment: Deployment) -> None:
    found = check(deployment, TEXT, LINES)
    assert (found["valid"], found["records"], found["given"], found["filtered"]) == (True, 3, 2, 0)
    assert [(each["record"], each["time"], each["drawn"]) for each in found["shown"]] == [
        (1, "1970-01-01T00:00:01Z", "(a)-[pays]->(b)"),
        (3, "1970-01-01T00:00:02Z", "(b)-[owes]->(c)"),
    ]
    assert found["shown"][0]["attributes"] == ["amount = 3"]
    assert (found["rejected"]["count"], found["rejected"]["examples"][0]["line"]) == (1, 2)
    assert found["rejected"]["examples"][0]["raw"] == '{"ts": "x"}'


def test_a_sample_of_columns_shows_them_as_attributes(deployment: Deployment) -> None:
    found = check(deployment, TEXT, CSV)
    assert [each["drawn"] for each in found["shown"]] == ["(a)-[pays]->(b)", "(b)-[owes]->(c)"]
    assert found["shown"][0]["attributes"] == ["amount = 3"]


def test_a_filter_and_an_event_are_shown(deployment: Deployment) -> None:
    found = check(deployment, "STREAM s EVENT label AT ts IN s WHERE label = 'pays'", LINES)
    assert (found["given"], found["filtered"], found["shown"][0]["drawn"]) == (1, 2, "pays")


def test_nothing_is_registered_and_no_sample_is_fine(deployment: Deployment) -> None:
    assert check(deployment, TEXT, "")["records"] == 0
    assert deployment.http.get("/api/v1/streams").json()["streams"] == []


def test_a_wrong_statement_has_its_place(deployment: Deployment) -> None:
    found = check(deployment, "STREAM s EDGE (src)-[label->(dst) AT ts IN s", LINES)
    assert (found["valid"], found["error"]["line"], found["error"]["column"]) == (False, 1, 28)
    assert check(deployment, "PATTERN p MATCH (a)-[x]->(b) ON s WINDOW 1", "")["valid"] is False


@pytest.mark.parametrize(
    ("text", "sample", "status"),
    [
        ("STREAM s FORMAT zeek EDGE (a)-[b]->(c) AT ts IN s", "not a log\n", 422),
        ("STREAM s FORMAT avro EDGE (a)-[b]->(c) AT ts IN s", "x", 422),
        (TEXT, "x" * (MOST_SAMPLE + 1), 422),
        ("x" * 1_000_000, "", 422),
    ],
)
def test_a_sample_that_cannot_be_read_is_refused(empty_deployment: Deployment, text: str, sample: str, status: int) -> None:
    answer = empty_deployment.http.post("/api/v1/streams:check", json={"text": text, "sample": sample})
    assert answer.status_code == status


def test_presets_are_statements_that_can_be_checked(empty_deployment: Deployment) -> None:
    listed = empty_deployment.http.get("/api/v1/presets").json()["presets"]
    assert [each["name"] for each in listed] == list(presets.preset_names())
    for each in listed:
        assert read_any_statement(each["text"]).name
        assert each["title"]
        assert empty_deployment.http.post("/api/v1/patterns:validate", json={"text": each["pattern"]}).json()["valid"]


def test_a_pattern_of_edges_has_a_shape_to_draw(empty_deployment: Deployment) -> None:
    def shape(text: str) -> Any:
        return empty_deployment.http.post("/api/v1/patterns:validate", json={"text": text}).json()["patterns"][0]["shape"]

    found = shape("PATTERN p MATCH (a:ip)-[x:pays]->(b)-[y]->(a), (b)-[z]->(c) ORDER x < y, y < z, x < z ON s WINDOW 1m")
    assert [each["name"] for each in found["vertices"]] == ["a", "b", "c"]
    assert found["vertices"][0]["label"] == "ip"
    assert [(each["source"], each["target"], each["label"]) for each in found["edges"]] == [
        ("a", "b", "pays"),
        ("b", "a", None),
        ("b", "c", None),
    ]
    assert found["order"] == [["x", "y"], ["y", "z"]]
    assert shape("PATTERN p SEQ(a:A, b:B) ON s WITHIN 1m") is None


def test_the_last_texts_of_a_pattern_are_kept(deployment: Deployment) -> None:
    path = "/api/v1/patterns/p"
    text = "PATTERN p MATCH (a)-[x:pays]->(b) ON s WINDOW {}s"
    for number in range(1, 24):
        headers = {"If-Match": "*"} if number > 1 else {}
        assert deployment.http.put(path, json={"text": text.format(number)}, headers=headers).status_code < 300
    deployment.http.post(f"{path}:pause")
    found = deployment.http.get(f"{path}/versions").json()["versions"]
    assert [each["version"] for each in found] == list(range(23, 3, -1))
    assert found[0]["text"] == text.format(23)
    assert deployment.http.get("/api/v1/patterns/nobody/versions").status_code == 404
