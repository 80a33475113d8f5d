"""The client of a server: against all services in one process, one service by itself, a server that is busy or has pages."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from graphtide import (
    Client,
    Edge,
    EdgesRejectedError,
    InvalidPatternError,
    Limits,
    NotFoundError,
    RefusedError,
    RefusedPatternError,
    ServerError,
    Session,
    UnavailableError,
    parse,
)
from graphtide.dev.deployment import DevOptions, application
from graphtide.server_types import AttributeSchema, DeadLetterAt, Event
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_core.errors import FatalError, TransientError
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.match import Completeness, MatchKind
from graphtide_core.time import EventTime
from graphtide_log.memory import MemoryLog
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.settings import KeySettings
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until
from graphtide_wire.topics import Topics
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.requests import Request

TEXT = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 10"


def pays(ts: object, source: str, target: str, **more: object) -> dict[str, object]:
    return {"ts": ts, "src": source, "dst": target, "label": "pays", **more}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve(application(DevOptions(low_latency=True))) as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as client:
        wait_until(lambda: is_ready(client), 60)
        yield client
        for pattern in client.patterns():
            client.delete(pattern)


def is_ready(client: Client) -> bool:
    try:
        client.patterns()
    except UnavailableError:
        return False
    return True


def test_a_pattern_goes_in_edges_go_in_and_matches_come_out(client: Client) -> None:
    assert client.patterns() == []
    registered = client.register(TEXT, engine="timing", limits=Limits(partial_matches=1000, policy="shed"))
    assert (registered.name, registered.limits.partial_matches) == ("p", 1000)
    assert client.wait("p").state == "running"
    assert [each.name for each in client.patterns("s")] == ["p"]
    assert client.patterns("t") == []
    sent = client.send("s", [pays(1, "ann", "bob"), Edge(EdgeId("e"), EventTime(2), VertexId("bob"), VertexId("cem"), "pays")])
    assert (sent.accepted, sent.rejected, sent.errors) == (2, 0, [])
    client.send("s", pays(datetime.fromtimestamp(0.003, UTC), "bob", "dan", id="f"))
    first, second = islice(client.matches("p", last=10), 2)
    assert (first.match.vertices, first.match.edges["y"]) == ({"a": "ann", "b": "bob", "c": "cem"}, "e")
    assert (second.match.kind, second.match.last_ts, second.match.edges["y"]) == (MatchKind.MATCH, 3, "f")
    assert second.match.completeness is Completeness.EXACT
    assert len({first.match, second.match, second.match}) == 2
    assert [each.place for each in client.newest_matches("p")] == [second.place, first.place]
    assert client.newest_matches("p", 1) == [second]
    (again,) = islice(client.matches("p", after=first.place), 1)
    assert again == second
    emitted = client.describe("p")
    assert emitted.pattern.name == "p"
    assert emitted.plan is not None
    assert "engine timing" in emitted.plan
    wait_until(lambda: client.stream("s").standing is not None, 60)
    assert client.stream("s").patterns == ("p",)
    assert "s" in [each.name for each in client.streams()]
    assert emitted.behind is not None


def test_patterns_change_rest_and_go(client: Client) -> None:
    seen = client.register(parse(TEXT)[0], state="paused")
    assert (seen.wanted, seen.updated_at.tzinfo) == ("paused", UTC)
    assert client.resume("p").wanted == "active"
    assert client.pause("p").wanted == "paused"
    with pytest.raises(RefusedError) as refused:
        client.change(seen, engine="timing")
    assert (refused.value.code, refused.value.status) == ("precondition-failed", 412)
    now = client.change("p", engine="timing", text=TEXT.replace("WINDOW 10", "WINDOW 20"))
    assert (now.engine, now.version) == ("timing", seen.version + 1)
    with pytest.raises(RefusedError):
        client.delete(seen)
    client.delete(now)
    for call in (
        lambda: client.get("p"),
        lambda: client.delete("p"),
        lambda: client.matches("p"),
        lambda: client.describe("p"),
    ):
        with pytest.raises(NotFoundError) as missing:
            call()
        assert missing.value.code == "not-found"
    with pytest.raises(NotFoundError):
        client.stream("nowhere")


def test_what_is_refused_has_the_problems_code(client: Client) -> None:
    with pytest.raises(RefusedPatternError) as wrong:
        client.register("PATTERN p\nMATCH (a)-[x]>(b)")
    assert isinstance(wrong.value, InvalidPatternError)
    assert (wrong.value.code, wrong.value.status, wrong.value.line) == ("invalid-pattern", 422, 2)
    assert "^" in str(wrong.value)
    client.register(TEXT)
    with pytest.raises(RefusedError) as twice:
        client.register(TEXT)
    assert (twice.value.code, twice.value.status, twice.value.problem["title"]) == ("exists", 409, "Conflict")
    assert "the server says 409: " in str(twice.value)
    with pytest.raises(RefusedError) as engine:
        client.register(TEXT.replace("PATTERN p", "PATTERN q"), engine="steam")
    assert engine.value.code == "unknown-engine"
    assert issubclass(RefusedError, FatalError)
    assert issubclass(UnavailableError, TransientError)
    with Client("http://127.0.0.1:1") as alone, pytest.raises(UnavailableError) as unreached:
        alone.patterns()
    assert (unreached.value.code, unreached.value.status) == ("unreachable", None)
    with pytest.raises(FatalError, match="add http://"):
        Client("localhost:8080")


def test_unusable_edges_are_reported_by_their_numbers_and_kept_as_dead_letters(client: Client) -> None:
    edges: list[Any] = [pays(number, f"v{number}", "w", id=f"n{number}") for number in range(12_000)]
    edges[3] = 7
    edges[5_001] = pays("soon", "a", "b")
    edges[11_999] = {"ts": 5}
    sent = client.send("many", edges)
    assert (sent.accepted, sent.rejected) == (11_997, 3)
    assert [(each.line, each.code) for each in sent.errors] == [(4, "malformed"), (5_002, "malformed"), (12_000, "malformed")]
    assert "a int is not a record" in sent.errors[0].reason
    letters = client.dead_letters("many")
    assert [json.loads(letter.data) for letter in letters] == [{"ts": 5}, pays("soon", "a", "b")]
    assert all(letter.stream == "many" and letter.time.tzinfo is not None for letter in letters)
    assert client.dead_letters("many", most=1) == letters[:1]
    assert letters[0] in client.dead_letters()


def test_a_dead_letter_goes_in_again_as_it_was_or_corrected(client: Client) -> None:
    client.declare("mended", {"zip": "string"})
    client.send("mended", [pays(1, "a", "b", zip="01"), pays(2, "a", "b", zip=7), pays("soon", "a", "b")])
    soon, seven = client.dead_letters("mended")
    with pytest.raises(EdgesRejectedError, match=r"the only edge of the request became a dead letter; .* zip") as rejected:
        client.replay(seven)
    assert [(each.line, each.code) for each in rejected.value.errors] == [(1, "malformed")]
    client.declare("mended", {})
    wait_until(lambda: is_taken(client, seven), 60)
    client.replay(soon, pays(datetime.fromtimestamp(0.003, UTC), "a", "b"))
    with pytest.raises(TypeError, match="int is not a record"):
        client.replay(soon, 7)  # type: ignore[arg-type] # what is refused
    with pytest.raises(NotFoundError) as missing:
        client.replay(DeadLetterAt("mended", "0-999", "", "", soon.time))
    assert missing.value.code == "unknown-letter"
    wait_until(lambda: (progress := client.stream("mended").standing) is not None and progress.watermark == 3, 60)


def is_taken(client: Client, letter: DeadLetterAt) -> bool:
    try:
        client.replay(letter)
    except EdgesRejectedError:
        return False
    return True


def test_a_stream_has_a_schema_and_ends(client: Client) -> None:
    assert client.schema("typed") == {}
    declared = client.declare("typed", {"zip": "string", "amount": "number"})
    assert (declared["zip"].type, declared["zip"].source) == ("string", "declared")
    client.send("typed", pays(1, "a", "b", zip="01", note="x"))
    wait_until(lambda: "note" in client.schema("typed"), 60)
    assert client.schema("typed")["note"] == AttributeSchema("note", "string", "seen")
    for types, code in (({"zip": "text"}, "invalid-request"), ({"src": "string"}, "reserved-attribute")):
        with pytest.raises(RefusedError) as refused:
            client.declare("typed", types)
        assert refused.value.code == code
    client.register(TEXT.replace("PATTERN p", "PATTERN reader").replace("ON s", "ON typed"))
    with pytest.raises(RefusedError) as in_use:
        client.delete_stream("typed")
    assert in_use.value.code == "stream-in-use"
    client.delete("reader")
    wait_until(lambda: is_deleted(client, "typed"), 60)
    assert "typed" not in [stream.name for stream in client.streams()]
    with pytest.raises(NotFoundError):
        client.delete_stream("typed")


def test_a_stream_has_a_statement(client: Client) -> None:
    text = "STREAM stated EDGE (payer)-['pays']->(payee) AT time IN s"
    put = client.put_stream(text)
    assert put.statement is not None
    assert (put.name, put.statement.version, put.statement.text) == ("stated", 1, text)
    assert put.statement.definition["name"] == "stated"
    found = client.stream("stated")
    assert (found.statement, found.end) == (put.statement, 0)
    again = client.put_stream(text.replace("IN s", "IN ms")).statement
    assert again is not None
    assert again.version == 2
    for wrong in (TEXT, f"{text} {text.replace('stated', 'other')}"):
        with pytest.raises(InvalidPatternError, match=r"has no STREAM statement|one STREAM statement is needed, not 2"):
            client.put_stream(wrong)
    client.delete_statement("stated")
    assert client.stream("stated").statement is None
    with pytest.raises(NotFoundError):
        client.delete_statement("stated")
    client.delete_stream("stated")


def test_a_sender_that_waits_learns_what_ordering_did(client: Client, url: str) -> None:
    client.put_stream("STREAM awaited EDGE (src)-[label]->(dst) AT ts ID id WHERE note <> 'skip' LATENESS 2ms DUPLICATES error")
    client.register(TEXT.replace("PATTERN p", "PATTERN awaits").replace("ON s", "ON awaited"))
    client.wait("awaits")
    edges = [
        pays(100, "a", "b", id="one", note="x"),
        pays(101, "a", "b", id="skipped", note="skip"),
        pays(101, "b", "c", id="one", note="x"),
        pays(50, "a", "b", id="late", note="x"),
    ]
    sent = client.send("awaited", edges, wait_ordered=60)
    assert (sent.accepted, sent.filtered) == (3, 1)
    assert sent.ordering is not None
    assert (sent.ordering.ordered, sent.ordering.duplicates, sent.ordering.late) == (1, 1, 1)
    assert [(each.line, each.code) for each in sent.ordering.errors] == [(4, "late")]
    shown = httpx2.get(f"{url}/api/v1/streams/awaited").json()["standing"]
    assert [shown[name] for name in ("ordered", "duplicates", "late", "filtered")] == [1, 1, 1, 1]
    assert (shown["first"]["code"], shown["first"]["line"]) == ("late", 4)
    assert {letter.code for letter in client.dead_letters("awaited")} == {"late", "duplicate"}
    assert client.send("awaited", pays(200, "a", "b", id="two", note="x")).ordering is None
    client.delete("awaits")


def test_records_of_any_shape_match_once_a_statement_says_what_they_are(client: Client, url: str) -> None:
    client.put_stream("STREAM nested EDGE (payer.name)-['pays']->(payee.name) SET amount = sum.value AT time IN s")
    text = "PATTERN large MATCH (a)-[x:pays]->(b)-[y:pays]->(c) WHERE y.amount > 5 ORDER x < y ON nested WINDOW 1m"
    client.register(text)
    client.wait("large")
    payments = [
        {"time": at, "payer": {"name": source}, "payee": {"name": target}, "sum": {"value": amount, "currency": "EUR"}}
        for at, source, target, amount in ((1, "ann", "bob", 3), (2, "bob", "cem", 4), (3, "bob", "dan", 7))
    ]
    body = "".join(json.dumps(each) + "\n" for each in payments) + "{}\n"
    address = f"{url}/api/v1/streams/nested/edges"
    answer = httpx2.post(address, content=body, headers={"Content-Type": "application/x-ndjson"})
    assert (answer.json()["accepted"], answer.json()["rejected"]) == (3, 1)
    (found,) = islice(client.matches("large", last=10), 1)
    assert found.match.vertices == {"a": "ann", "b": "bob", "c": "dan"}
    assert (found.match.first_ts, found.match.last_ts) == (1_000, 3_000)
    wait_until(lambda: len(client.dead_letters("nested")) == 1, 60)
    (letter,) = client.dead_letters("nested")
    assert (letter.data, letter.reason, letter.source_line) == (b"{}", "no time", 4)


def is_deleted(client: Client, stream: str) -> bool:
    try:
        client.delete_stream(stream)
    except RefusedError as error:
        if error.code != "stream-in-use":
            raise
        return False
    return True


def test_where_none_can_be_used_that_is_an_error(client: Client) -> None:
    unusable_values: list[Any] = [{"ts": 1}, 7, pays(None, "a", "b")]
    with pytest.raises(EdgesRejectedError) as rejected:
        client.send("none", unusable_values)
    assert rejected.value.code == "all-rejected"
    assert [each.line for each in rejected.value.errors] == [1, 2, 3]
    assert "none of the 3 edges could be used: the first (1) because " in str(rejected.value)
    assert client.send("none", []).accepted == 0
    for wrong in (7, "edges", None):
        with pytest.raises(TypeError, match="is not an edge"):
            client.send("none", wrong)  # type: ignore[arg-type] # what is refused


def test_edges_sent_again_with_their_key_are_not_there_twice(client: Client) -> None:
    edges = [pays(number, "a", "b") for number in range(6_000)]
    for _ in range(2):
        assert client.send("again", edges, producer="ann", idempotency_key="k").accepted == 6_000
    wait_until(lambda: (progress := client.stream("again").standing) is not None and progress.read >= 6_000, 60)
    progress = client.stream("again").standing
    assert progress is not None
    assert progress.read == 6_000
    with pytest.raises(RefusedError) as reused:
        client.send("again", edges[::-1], producer="ann", idempotency_key="k")
    assert reused.value.code == "idempotency-key-reused"
    assert reused.value.__notes__ == ["the server keeps 0 of the edges that were sent"]


def test_long_edges_are_sent_in_several_requests(client: Client) -> None:
    assert client.send("long", [pays(number, "a", "b", text="x" * 200_000) for number in range(50)]).accepted == 50


def test_a_key_is_shown_and_what_it_may_not_is_refused() -> None:
    log = MemoryLog()
    log.admin().ensure(Topics().of_deployment())
    keys = [KeySettings(name="ann", hash=hash_key("ann"), scopes=["patterns:read"])]
    with serve(admin_api(AdminApiSettings(api_keys=keys), log)) as url:
        with Client(url, api_key="ann") as ann:
            assert ann.patterns() == []
            for call in (lambda: ann.register(TEXT), ann.dead_letters):
                with pytest.raises(RefusedError) as refused:
                    call()
                assert (refused.value.status, refused.value.code) == (403, "forbidden")
        for other in (Client(url), Client(url, token="guess")):  # noqa: S106 - of no user
            with other, pytest.raises(RefusedError) as unknown:
                other.patterns()
            assert (unknown.value.status, unknown.value.code) == (401, "unauthenticated")


def answering(answers: Callable[[Request], Awaitable[Response]]) -> Starlette:
    return Starlette(routes=[Route("/{path:path}", answers, methods=["GET", "POST"])])


def test_a_busy_server_is_asked_again_where_it_took_nothing() -> None:
    bodies: list[bytes] = []

    async def answer(request: Request) -> Response:
        bodies.append(await request.body())
        if len(bodies) == 1:
            problem = {"status": 429, "code": "too-many-requests", "detail": "wait", "accepted": 0}
            return JSONResponse(problem, 429, {"Retry-After": "0"})
        if len(bodies) == 2:
            made = {"created": True, "similar": ["t"]}
            return JSONResponse({"accepted": 1, "rejected": 0, "errors": [], **made}, 202)
        return JSONResponse({"status": 429, "code": "too-many-requests", "detail": "wait", "accepted": 4}, 429)

    with serve(answering(answer)) as url, Client("http://127.0.0.1:1", edges_url=url) as client:
        sent = client.send("s", pays(1, "a", "b"))
        assert (sent.accepted, sent.created, sent.similar) == (1, True, ("t",))
        assert bodies[0] == bodies[1]
        with pytest.raises(UnavailableError) as refused:
            client.send("s", [pays(1, "a", "b")] * 9)
        assert refused.value.__notes__ == ["the server keeps 4 of the edges that were sent"]
        with pytest.raises(UnavailableError):
            client.send("s", pays(1, "a", "b"), patience=0)


def test_lists_come_page_by_page_and_an_odd_answer_is_said_to_be_one() -> None:
    asked: list[dict[str, str]] = []

    async def answer(request: Request) -> Response:
        asked.append(dict(request.query_params))
        if request.url.path.endswith("/streams"):
            return Response("<html>", 502)
        cursor = int(request.query_params.get("cursor", "0"))
        letter = {"stream": "s", "place": f"0-{cursor}", "code": "late", "reason": "late", "time": "2024-01-01T00:00:00Z"}
        raw = {"raw": "x"} if cursor else {"raw_base64": "/w=="}
        return JSONResponse({"dead_letters": [{**letter, **raw}], "next": str(cursor + 1) if cursor < 5 else None})

    with serve(answering(answer)) as url, Client(url) as client:
        assert [each.place for each in client.dead_letters("s")] == [f"0-{number}" for number in range(6)]
        assert asked[:2] == [{"limit": "100", "stream": "s"}, {"limit": "100", "stream": "s", "cursor": "1"}]
        assert [each.data for each in client.dead_letters(most=2)] == [b"\xff", b"x"]
        assert asked[6:] == [{"limit": "2"}, {"limit": "2", "cursor": "1"}]
        with pytest.raises(ServerError, match="the server answered 502, and not as a graphtide server does") as odd:
            client.streams()
        assert odd.value.code == "not-graphtide"


@pytest.mark.parametrize(
    ("text", "stream", "name", "value"),
    [
        ("PATTERN p MATCH (x)-[e:a]->(x) ON s WINDOW 5", ["a"], "edges", {"e": "0"}),
        ("PATTERN p MATCH (x)-[e:a]->(y) UNDER DUAL SIMULATION ON s WINDOW 5", ["a"], "edges", {"e": ("0",)}),
        ("PATTERN p SEQ(one:a, other:a) ON s WITHIN 5", ["a", "a"], "events", {"one": "0", "other": "1"}),
        ("QUERY p Answer(x, y) <- a+(x, y). ON s WINDOW(5)", ["a"], "valid", (0, 5)),
        ("QUERY p Answer(x, y, z) <- a(x, y), a(y, z). ON s WINDOW(5)", ["a"], "bindings", {"x": "v", "y": "v", "z": "v"}),
        ("QUERY p Answer(x, y) <- a+(x, y) AS w. ON s WINDOW(5) RETURN w", ["a"], "path", ("0",)),
    ],
)
def test_records_of_every_family_are_read(text: str, stream: list[str], name: str, value: object) -> None:
    is_of_events = "SEQ" in text
    ends = {} if is_of_events else {"src": "v", "dst": "v"}
    records = [{"ts": ts, "type" if is_of_events else "label": label, **ends} for ts, label in enumerate(stream)]
    session = Session(text)
    lines = b"".join(batch.to_json_lines() for batch in session._run(session._open(records)))  # noqa: SLF001 - as it is sent
    read = Event("0-0", lines.splitlines()[0].decode()).match
    assert (read.query, getattr(read, name)) == ("p", value)
