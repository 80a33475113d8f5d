"""A registration that is refused, for whatever reason, leaves no topic of its stream behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, TopicSpec
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from conftest import Deployment

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b) ON fresh WINDOW 10"
VIEW = "GRAPH VIEW {name} AS (\nCONSTRUCT (x)-[:near]->(y)\nMATCH (x)-[:near]->(y) ON fresh WINDOW(5m))"

REFUSED: dict[str, tuple[str, str, dict[str, Any], dict[str, str], int]] = {
    "an engine that is none": ("POST", "", {"text": PATTERN, "engine": "none"}, {}, 422),
    "an engine of another family": ("POST", "", {"text": PATTERN, "engine": "event-graph"}, {}, 422),
    "a name that is taken": ("POST", "", {"text": PATTERN.replace("PATTERN p", "PATTERN taken")}, {}, 409),
    "a state that was expected": ("PUT", "/p", {"text": PATTERN}, {"If-Match": "*"}, 412),
    "a state that is not said": ("PUT", "/taken", {"text": PATTERN.replace("PATTERN p", "PATTERN taken")}, {}, 428),
    "a change of what is not there": ("PATCH", "/p", {"text": PATTERN}, {"If-Match": "*"}, 404),
    "a change to another name": ("PATCH", "/taken", {"text": PATTERN}, {"If-Match": "*"}, 422),
    "a view of its own stream": ("POST", "", {"text": VIEW.format(name="fresh")}, {}, 422),
    "a view whose topics collide": ("POST", "", {"text": VIEW.format(name="clash")}, {}, 409),
    "a view of a stream with edges": ("POST", "", {"text": VIEW.format(name="used")}, {}, 409),
    "more matches than its limit": (
        "POST",
        "",
        {
            "text": "PATTERN many MATCH " + ", ".join(f"(a{n})-[x{n}:pays]->(b{n})" for n in range(4)) + " ON fresh WINDOW 1d",
            "limits": {"work": 1},
        },
        {},
        422,
    ),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_a_refused_registration_makes_no_topics(
    deployment: Deployment, refused: tuple[str, str, dict[str, Any], dict[str, str], int]
) -> None:
    method, path, body, headers, status = refused
    there = "PATTERN taken MATCH (a)-[x:pays]->(b) ON known WINDOW 10"
    assert deployment.http.post("/api/v1/patterns", json={"text": there}).status_code == 201
    admin = deployment.log.admin()
    admin.ensure([*Topics().of_stream(StreamName("used")), TopicSpec("graphtide.ordered.clash_v1")])
    deployment.writer.write([Message(Topics().raw(StreamName("used")), None, b"{}")])
    answer = deployment.http.request(method, f"/api/v1/patterns{path}", json=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert [name for name in admin.topics() if ".fresh." in name] == []
