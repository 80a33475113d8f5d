"""A caller with a right to one name sees and changes nothing else, by any route."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import httpx2
import pytest
from fastapi.testclient import TestClient
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_core.ids import StreamName
from graphtide_core.time import EventTime, TimeUnit
from graphtide_log.memory import MemoryLog
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.settings import KeySettings
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until
from graphtide_wire import matches, ordered, ordered_body
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI
    from graphtide_core.edge import Value

TOPICS: Final = Topics()
SCOPES: Final = ("patterns:read", "patterns:write", "matches:read", "matches:write")
KEYS: Final = {
    "root": ["admin"],
    "by name": [f"{scope}:open-*" for scope in SCOPES],
    "by stream": [f"{scope}:stream=plain" for scope in SCOPES],
    "reader": ["patterns:read:open-door", "matches:read:open-door"],
    "matches": ["matches:read:stream=plain"],
    "viewer": ["patterns:write:stream=plain", "patterns:write:stream=near"],
    "one view": ["patterns:write:near"],
    "none": [],
}
NARROW: Final = ("by name", "by stream", "reader", "matches")

OPEN, HUSHED, ABSENT = "open-door", "hushed", "absent"
"""A pattern on the stream `plain` that callers have rights to, one on `veiled` that they have none to, and one that is not."""

SECRETS: Final = ("hushed", "veiled", "cloaked")
"""Names that appear in nothing that narrow callers get: of a pattern, of its stream, and of a vertex there."""

BODIES: Final[dict[str, dict[str, Any]]] = {
    "register_pattern": {"text": f"PATTERN {HUSHED} MATCH (a)-[x]->(b) ON veiled WINDOW 10"},
    "put_target": {"kind": "file", "address": "alerts.jsonl", "patterns": HUSHED},
    "put_pattern": {"text": f"PATTERN {HUSHED} MATCH (a)-[x]->(b) ON veiled WINDOW 20"},
    "change_pattern": {"engine": "sjtree"},
    "backfill_pattern": {},
    "validate_patterns": {"text": f"PATTERN {HUSHED} MATCH (a)-[x]->(b) WHERE x.unheard = 1 ON veiled WINDOW 10"},
    "dry_run_patterns": {"text": f"PATTERN {HUSHED} MATCH (a)-[x]->(b) ON veiled WINDOW 10", "last": 10},
    "acknowledge_match": {"note": "seen"},
    "make_mute": {"pattern": HUSHED},
    "check_statement": {"text": "STREAM veiled EDGE (src)-[pays]->(dst) AT ts", "sample": '{"src":"a","dst":"b","ts":1}\n'},
    "put_stream": {"text": "STREAM veiled EDGE (src)-[pays]->(dst) AT ts"},
    "declare_schema": {"attributes": {"zip": "string"}},
}
NO_ID: Final = "0" * 32
NAMING: Final = {("query", "pattern"), ("query", "stream")}
ECHOES: Final = frozenset({"validate_patterns", "check_statement"})
"""Routes that answer about nothing but the text of the request."""


def text(name: str, stream: str, window: int = 10) -> dict[str, str]:
    quoted = f"`{name}`" if "-" in name else name
    return {"text": f"PATTERN {quoted} MATCH (a)-[x:pays]->(b) ON {stream} WINDOW {window}"}


class World:
    """Two patterns on two streams, with edges, matches, a mute and a backfill of each."""

    def __init__(self, app: FastAPI, http: TestClient, log: MemoryLog) -> None:
        self.app, self.http, self._log = app, http, log
        self.ids: dict[str, dict[str, str]] = {}
        for name, stream, vertex in ((OPEN, "plain", "shown"), (HUSHED, "veiled", "cloaked")):
            self.ask("POST", "/patterns", json=text(name, stream)).raise_for_status()
            self._put_edge(stream, vertex)
            report(log, name, 1, vertex)
            wait_until(partial(self._has_match, name), 60, pause=0.01)
            mute = self.ask("POST", "/mutes", json={"pattern": name, "key": {"vertex": vertex}}).json()["id"]
            operation = self.ask("POST", f"/patterns/{name}:backfill", json={}).json()["id"]
            self.ids[name] = {"mutes": mute, "operations": operation}
        self.of_all = self.ask("POST", "/mutes", json={"reason": "cloaked"}).json()["id"]

    def ask(self, method: str, path: str, key: str = "root", **given: Any) -> Any:
        return self.http.request(method, f"/api/v1{path}", headers={"X-API-Key": key, **given.pop("headers", {})}, **given)

    def state(self) -> list[Any]:
        """Return what the routes that change something may change."""
        shown = [f"/patterns/{HUSHED}", f"/patterns/{OPEN}", "/patterns", "/mutes", "/operations", "/streams/veiled"]
        found = [self.ask("GET", each).json() for each in shown]
        return [*found, self.ask("GET", f"/patterns/{HUSHED}/matches").json()]

    def _has_match(self, name: str) -> bool:
        return bool(self.ask("GET", f"/patterns/{name}/matches").json().get("matches"))

    def _put_edge(self, stream: str, vertex: str) -> None:
        row: dict[str, Value] = {
            "ts": 1,
            "src": vertex,
            "dst": "b",
            "label": "pays",
            "src_label": None,
            "dst_label": None,
            "id": "e",
        }
        header = ordered.OrderedHeader(EventTime(1), EventTime(1), 1, 0, EventTime(1), TimeUnit.MILLISECOND)
        transactor = self._log.transactor(f"sequencer of {stream}")
        transactor.open()
        transactor.begin()
        body = ordered_body.encode({name: [value] for name, value in row.items()})
        transactor.write([ordered.encode(TOPICS.ordered(StreamName(stream)), header, body)])
        transactor.commit("g", {})


def report(log: MemoryLog, name: str, number: int, vertex: str = "v") -> None:
    body = {
        "match_id": f"{number:032x}", "query": name, "kind": "match", "detected_at": number, "first_ts": 1, "last_ts": 1,
        "edges": {"x": "e"}, "vertices": {"a": vertex},
    }  # fmt: skip
    log.writer().write([matches.encode(TOPICS.matches, json.dumps(body, separators=(",", ":")).encode(), 1, None)])


def application(log: MemoryLog) -> FastAPI:
    keys = [KeySettings(name=name, hash=hash_key(name), scopes=scopes) for name, scopes in KEYS.items()]
    return admin_api(AdminApiSettings(api_keys=keys, requests_per_second=10_000, burst=10_000), log)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    log = MemoryLog()
    app = application(log)
    with TestClient(app) as http:
        wait_until(lambda: http.get("/readyz").status_code == 200, 60, pause=0.01)
        yield World(app, http, log)


class Route(NamedTuple):
    """A route as the description has it; `queries` are the parameters that name a pattern or a stream."""

    name: str
    method: str
    path: str
    queries: list[str]


def routes_of(app: FastAPI) -> list[Route]:
    """Return all routes, but for that of the events of all patterns, which a test of its own follows."""
    found = [
        Route(
            each["operationId"],
            method.upper(),
            path.removeprefix("/api/v1"),
            [known["name"] for known in each.get("parameters", ()) if (known["in"], known["name"]) in NAMING],
        )
        for path, methods in app.openapi()["paths"].items()
        for method, each in methods.items()
        if path != "/api/v1/matches:stream"
    ]
    assert len(found) > 40
    assert {each.name for each in found} >= BODIES.keys()
    return found


def requests_of(route: Route, world: World, name: str, stream: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield requests of a route about a pattern and a stream: with the names in the address, in the query and in the body."""
    kind = "operations" if "operations" in route.path else "mutes"
    id = world.ids.get(name, {}).get(kind, NO_ID)
    given = {"name": name, "stream": stream, "match_id": f"{1:032x}", "id": id, "place": "0-1", "target": "ops"}
    path = route.path.format(**given)
    path += "?id=e" if path.endswith("edges:find") else ""
    body = BODIES.get(route.name)
    swapped = None if body is None else json.loads(json.dumps(body).replace(HUSHED, name).replace("veiled", stream))
    more = {"headers": {"If-Match": "*"}} | ({} if swapped is None else {"json": swapped})
    yield path, more
    for each in route.queries:
        yield f"{path}?{each}={name if each == 'pattern' else stream}", more


@pytest.mark.parametrize("key", NARROW)
def test_a_narrow_caller_sees_and_changes_nothing_else_by_any_route(world: World, key: str) -> None:
    before, asked = world.state(), 0
    for route in routes_of(world.app):
        of_hidden, of_absent = (
            list(requests_of(route, world, name, stream)) for name, stream in ((HUSHED, "veiled"), (ABSENT, "nowhere"))
        )
        for (path, more), (other, other_more) in zip(of_hidden, of_absent, strict=True):
            asked += 1
            shown, nothing = world.ask(route.method, path, key, **more), world.ask(route.method, other, key, **other_more)
            about = f"{route.method} {path}: {shown.status_code} {shown.text}"
            assert shown.status_code < 500, about
            if shown.is_success and route.name not in ECHOES:
                assert not [each for each in SECRETS if each in shown.text], about
            # What is hidden answers as what is not there does; each ticket is another.
            as_hidden = nothing.text.replace(ABSENT, HUSHED).replace("nowhere", "veiled")
            if route.name == "make_ticket":
                continue
            as_absent = shown.text.replace(world.ids[HUSHED]["mutes"], NO_ID)
            assert (shown.status_code, as_absent) == (nothing.status_code, as_hidden), about
    assert asked > 50
    assert world.state() == before


def test_a_caller_without_a_right_gets_nothing_but_its_name(world: World) -> None:
    for route in routes_of(world.app):
        for path, more in requests_of(route, world, OPEN, "plain"):
            status = world.ask(route.method, path, "none", **more).status_code
            assert status == (200 if route.name == "get_me" else 403), f"{route.method} {path}"


ABOUT_EVERYTHING: Final = ("/health", "/series", "/matchers", "/operations", f"/operations/{NO_ID}", "/dead-letters")


@pytest.mark.parametrize("path", ABOUT_EVERYTHING)
@pytest.mark.parametrize("key", NARROW)
def test_routes_about_everything_need_the_whole_scope(world: World, key: str, path: str) -> None:
    refused = world.ask("GET", path, key)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert world.ask("GET", path).status_code in {200, 404}


def names(answer: Any, of: str) -> list[str]:
    return [each.get("name", each.get("pattern")) for each in answer.json()[of]]


def test_lists_show_what_may_be_read(world: World) -> None:
    assert names(world.ask("GET", "/patterns"), "patterns") == [HUSHED, OPEN]
    assert names(world.ask("GET", "/mutes"), "mutes") == [None, HUSHED, OPEN]
    for key in ("by name", "by stream"):
        assert names(world.ask("GET", "/patterns", key), "patterns") == [OPEN]
        assert names(world.ask("GET", "/mutes", key), "mutes") == [OPEN]
        found = world.ask("GET", "/matches", key).json()["matches"]
        assert [each["match"]["query"] for each in found] == [OPEN]
    assert names(world.ask("GET", "/streams", "by stream"), "streams") == ["plain"]
    assert names(world.ask("GET", "/streams", "by name"), "streams") == []


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/patterns/open-door", {"by name", "by stream", "reader"}),
        ("/patterns/open-door/versions", {"by name", "by stream", "reader"}),
        ("/patterns/open-door/statistics", {"by name", "by stream", "reader"}),
        ("/patterns/open-door/matches", {"by name", "by stream", "reader", "matches"}),
        ("/patterns/open-door/matches/0-0", {"by name", "by stream", "reader", "matches"}),
        ("/matches?pattern=open-door", {"by name", "by stream", "reader", "matches"}),
        ("/series?pattern=open-door", {"by name", "by stream", "reader"}),
        ("/series?stream=plain", {"by stream"}),
        ("/streams/plain", {"by stream"}),
        ("/streams/plain/schema", {"by stream"}),
        ("/streams/plain/edges", {"by stream", "matches"}),
        ("/streams/plain/edges:find?id=e", {"by stream", "matches"}),
        ("/me", {"by name", "by stream", "reader", "matches", "none"}),
    ],
)
def test_a_right_opens_what_it_names(world: World, path: str, allowed: set[str]) -> None:
    answers = {key: world.ask("GET", path, key).status_code for key in (*NARROW, "none")}
    assert answers == {key: 200 if key in allowed else 403 for key in answers}


def test_a_refusal_names_the_rights_that_are_enough(world: World) -> None:
    def detail(method: str, path: str, key: str, **given: Any) -> str:
        refused = world.ask(method, path, key, **given)
        assert refused.status_code == 403
        return str(refused.json()["detail"])

    assert detail("GET", "/patterns/hushed", "by name") == (
        "this needs the scope 'patterns:read' or 'patterns:read:hushed', which you were not granted"
    )
    assert "'patterns:read' or 'patterns:read:stream=veiled'" in detail("GET", "/streams/veiled", "by stream")
    assert "'patterns:write' or 'patterns:write:p' or 'patterns:write:stream=veiled'," in detail(
        "POST", "/patterns", "by stream", json=text("p", "veiled")
    )
    assert world.ask("GET", "/me", "reader").json() == {"name": "reader", "scopes": sorted(KEYS["reader"])}


@pytest.fixture
def fresh() -> Iterator[World]:
    log = MemoryLog()
    app = application(log)
    with TestClient(app) as http:
        wait_until(lambda: http.get("/readyz").status_code == 200, 60, pause=0.01)
        yield World(app, http, log)


def test_registering_looks_at_the_name_and_the_stream_of_the_text(fresh: World) -> None:
    def status(method: str, path: str, key: str, name: str, stream: str) -> int:
        return int(fresh.ask(method, path, key, json=text(name, stream), headers={"If-Match": "*"}).status_code)

    assert status("POST", "/patterns", "by name", "open-gate", "veiled") == 201, "a right to a name is one on all streams"
    assert status("POST", "/patterns", "by name", "gate", "plain") == 403
    assert status("POST", "/patterns", "by stream", "gate", "plain") == 201
    assert status("POST", "/patterns", "by stream", "fence", "veiled") == 403
    assert status("POST", "/patterns", "by stream", "fence", "plain, veiled") in {403, 422}
    # One that is there, on a stream of others: not even by a text on one's own.
    assert status("PUT", f"/patterns/{HUSHED}", "by stream", HUSHED, "plain") == 403
    assert status("PATCH", f"/patterns/{HUSHED}", "by stream", HUSHED, "plain") == 403
    assert status("PUT", "/patterns/gate", "by stream", "gate", "veiled") == 403
    assert status("PATCH", "/patterns/gate", "by stream", "gate", "veiled") == 403
    assert fresh.ask("GET", "/patterns/gate").json()["version"] == 1
    assert status("PUT", "/patterns/gate", "by stream", "gate", "plain") == 200
    assert fresh.ask("POST", "/patterns/gate:pause", "by stream").status_code == 200
    assert fresh.ask("POST", "/patterns/gate:pause", "by name").status_code == 403
    assert fresh.ask("DELETE", "/patterns/gate", "reader", headers={"If-Match": "*"}).status_code == 403
    assert fresh.ask("DELETE", "/patterns/gate", "by stream", headers={"If-Match": "*"}).status_code == 204


def test_a_text_on_another_stream_is_not_shown_to_readers_of_the_present_one(fresh: World) -> None:
    fresh.ask("PATCH", f"/patterns/{HUSHED}", json=text(HUSHED, "plain"), headers={"If-Match": "*"}).raise_for_status()
    shown = fresh.ask("GET", f"/patterns/{HUSHED}/versions", "by stream").json()["versions"]
    assert [each["version"] for each in shown] == [2]
    assert len(fresh.ask("GET", f"/patterns/{HUSHED}/versions").json()["versions"]) == 2


def view(name: str, of: str) -> dict[str, str]:
    return {"text": f"GRAPH VIEW {name} AS (\nCONSTRUCT (x)-[:near]->(y)\nMATCH (x)-[:near]->(y) ON {of} WINDOW(5m))"}


def test_a_view_needs_a_right_to_the_stream_that_it_makes(fresh: World) -> None:
    assert fresh.ask("POST", "/patterns", "by stream", json=view("near", "plain")).status_code == 403
    assert fresh.ask("POST", "/patterns", "by name", json=view("open_view", "plain")).status_code == 403
    assert fresh.ask("POST", "/patterns", "viewer", json=view("near", "plain")).status_code == 201


def test_a_view_that_patterns_of_others_read_is_not_deleted_by_force(fresh: World) -> None:
    fresh.ask("POST", "/patterns", json=view("near", "plain")).raise_for_status()
    fresh.ask("POST", "/patterns", json=text("cloaked", "near")).raise_for_status()
    for query, status in (("", 409), ("?force=true", 403)):
        refused = fresh.ask("DELETE", f"/patterns/near{query}", "one view", headers={"If-Match": "*"})
        assert refused.status_code == status
        assert ("1 that you may not see" in refused.text) == (status == 409)
        assert status == 403 or "cloaked" not in refused.text
    assert fresh.ask("GET", "/patterns/cloaked").json()["wanted"] == "active"
    assert fresh.ask("DELETE", "/patterns/near?force=true", headers={"If-Match": "*"}).status_code == 204


def test_a_circle_of_views_is_not_shown_to_one_who_may_not_see_them(fresh: World) -> None:
    fresh.ask("POST", "/patterns", json=view("veiled2", "near")).raise_for_status()
    refused = fresh.ask("PUT", "/patterns/near", "one view", json=view("near", "veiled2"))
    assert (refused.status_code, refused.json()["code"]) == (409, "view-circle")
    assert refused.json()["detail"] == "the view 'near' would read its own stream, through other views"


def test_events_of_all_patterns_are_of_those_that_may_be_read() -> None:
    log = MemoryLog()
    with serve(application(log)) as url, httpx2.Client(base_url=f"{url}/api/v1", timeout=60) as http:
        wait_until(lambda: http.get(f"{url}/readyz").status_code == 200, 60, pause=0.05)
        for name, stream in ((OPEN, "plain"), (HUSHED, "veiled")):
            http.post("/patterns", json=text(name, stream), headers={"X-API-Key": "root"}).raise_for_status()
        for number, name in enumerate([HUSHED, OPEN, HUSHED, HUSHED, OPEN]):
            report(log, name, number)

        def seen() -> bool:
            shown = http.get(f"/patterns/{OPEN}/matches", headers={"X-API-Key": "root"}).json()
            return len(shown.get("matches", ())) == 2

        wait_until(seen, 60, pause=0.05)
        for key in NARROW:
            ticket = http.post("/tickets", headers={"X-API-Key": key}).json()["ticket"]
            for given in ({"headers": {"X-API-Key": key}}, {"params": {"ticket": ticket}}):
                assert [each["query"] for each in follow(http, "/matches:stream", 2, given)] == [OPEN, OPEN]
            ticket = http.post("/tickets", headers={"X-API-Key": key}).json()["ticket"]
            refused = http.get(f"/patterns/{HUSHED}/matches:stream", params={"ticket": ticket})
            assert refused.status_code == 403


def test_events_of_a_pattern_end_where_it_reads_another_stream() -> None:
    log = MemoryLog()
    with serve(application(log)) as url, httpx2.Client(base_url=f"{url}/api/v1", timeout=60) as http:
        wait_until(lambda: http.get(f"{url}/readyz").status_code == 200, 60, pause=0.05)
        root = {"X-API-Key": "root", "If-Match": "*"}
        http.post("/patterns", json=text("p", "plain"), headers=root).raise_for_status()
        with http.stream("GET", "/patterns/p/matches:stream", headers={"X-API-Key": "matches"}) as answer:
            lines = answer.iter_lines()
            assert next(lines) == "retry: 1000"
            http.patch("/patterns/p", json=text("p", "veiled"), headers=root).raise_for_status()
            report(log, "p", 1)
            assert not [line for line in lines if line.startswith("data")], "the answer ends without a match"
        assert http.get("/patterns/p/matches:stream", headers={"X-API-Key": "matches"}).status_code == 403


def follow(http: httpx2.Client, path: str, count: int, given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the first events of an address, from the first match on."""
    found: list[dict[str, Any]] = []
    params = {"last": "100", **given.get("params", {})}
    with http.stream("GET", path, params=params, headers=given.get("headers", {})) as answer:
        assert answer.status_code == 200, answer.read()
        for line in answer.iter_lines():
            if line.startswith("data: "):
                found.append(json.loads(line.removeprefix("data: ")))
                if len(found) == count:
                    break
    return found
