"""What is valid at an instant: the snapshot, from the reports of one window before it, with notes on what may be missing."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_admin_api.application import emitted as emitted_module
from graphtide_admin_api.application.dry_run import dry_run
from graphtide_admin_api.application.emitted import Most
from graphtide_admin_api.application.matches import RecentMatches, read_match
from graphtide_admin_api.application.results import Asked, Results, ResultsCursor
from graphtide_admin_api.domain.pattern_status import PatternStatus
from graphtide_admin_api.domain.problems import ProblemError
from graphtide_core.any_pattern import ordered_stream
from graphtide_core.match import result_id
from graphtide_core.ports.log import TopicPartition
from graphtide_core.stream_window import WindowKind
from graphtide_core.time import EventTime, TimeUnit
from graphtide_log.memory import MemoryLog
from graphtide_query import parse, print_pattern
from graphtide_query.reads import match_lookback
from graphtide_testing.oracles.graph_queries import GraphQueryOracle
from graphtide_testing.registrations import registration
from graphtide_testing.strategies import StreamShape, random_stream
from graphtide_testing.strategies.graph_queries import GraphQueryShape, random_graph_query
from graphtide_wire import control, matches, ordered
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from graphtide_admin_api.application.results import ValidAt
    from graphtide_core.edge import Edge
    from graphtide_core.graph_query import GraphQuery

    from conftest import Deployment

TOPICS = Topics()
AT = datetime(2024, 1, 1, tzinfo=UTC)
BEFORE, AFTER = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
TEXT = "QUERY q near(x, y) <- a+(x, y). ON s WINDOW(10)"
STAYING = "QUERY q near(x, y) <- a+(x, y). ON s WINDOW(10) INTERNAL"
STREAM = StreamShape(labels=("a", "b"), vertices=3, max_records=50, negative_ts=False, attributes=False)
SHAPE = GraphQueryShape(
    labels=("a", "b"), kinds=(WindowKind.EXTERNAL,) * 3 + (WindowKind.NOW,), conditions=False, paths=False, max_window=9
)
NOISE = b'{"match_id":"n","query":"noise","kind":"match","detected_at":7}'


class Trimmed:
    """A log whose partitions begin at these offsets: what was before has been deleted."""

    def __init__(self, log: MemoryLog, firsts: dict[TopicPartition, int]) -> None:
        self._log, self._firsts = log, firsts

    def reader(self, group: str | None) -> Any:
        reader: Any = self._log.reader(group)
        known = reader.ends

        def ends(partitions: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
            return {each: (self._firsts.get(each, 0), end) for each, (_, end) in known(partitions).items()}

        reader.ends = ends
        return reader


@dataclass
class World:
    """A log with an ordered stream and with the reports of one query, and how far that has read."""

    text: str = TEXT
    most: Most = field(default_factory=Most)
    start: int = 0
    version: int = 1
    created_at: datetime = BEFORE

    def __post_init__(self) -> None:
        (self.query,) = parse(self.text)
        self.stream = ordered_stream(self.query)
        self.log = MemoryLog()
        self.log.admin().ensure([*TOPICS.of_deployment(partitions=2), *TOPICS.of_stream(self.stream)])
        self.seen: Any = self.log
        self._writer = self.log.writer()
        self._ordinal = self.epoch = 0
        self.position: int | None = None

    def edges(self, *times: int) -> None:
        """Append a record of edges of these times to the ordered stream, which the query has read then."""
        place = TopicPartition(TOPICS.ordered(self.stream), 0)
        first, last = (EventTime(times[0]), EventTime(times[-1])) if times else (EventTime(-(2**63)),) * 2
        header = ordered.OrderedHeader(first, last, len(times), self._ordinal, last, TimeUnit.MILLISECOND, epoch=self.epoch)
        self._ordinal += len(times)
        self._writer.write([ordered.encode(TOPICS.ordered(self.stream), header, b"edges")])
        self.position = self.log.reader(None).ends([place])[place][1]

    def write(self, *lines: bytes, version: int = 1, backfilled: bool = False) -> None:
        """Append match records."""
        for line in lines:
            message = matches.encode(TOPICS.matches, line, version, None)
            self._writer.write([matches.as_backfilled(message) if backfilled else message])

    def emitted(self, kind: str, at: int, source: str, target: str, until: int | None, **more: int) -> None:
        """Append a report of an edge `near`; a retraction withdraws it from `since` on."""
        body = {
            "match_id": result_id("q", more.get("version", 1), "near", (source, target)),
            **{"query": "q", "kind": kind, "detected_at": at, "first_ts": at, "last_ts": at},
            **{"src": source, "dst": target, "label": "near", "valid": [more.get("since", at), until]},
        }
        self.write(json.dumps(body).encode(), version=more.get("version", 1))

    def let_go(self, matches: int) -> None:
        """Let the first matches go."""
        self.seen = Trimmed(self.log, {self.place(): matches})

    def place(self) -> TopicPartition:
        """Return the partition of the query's matches."""
        reader = self.log.reader(None)
        reader.assign(dict.fromkeys(reader.partitions(TOPICS.matches), 0))
        (found,) = {each.partition for each in reader.poll(0, 10_000) if each.key == b"q"}
        return TopicPartition(TOPICS.matches, found)

    def valid(
        self, at: object = None, *, cursor: ResultsCursor | None = None, version: int | None = None, most: int = 1_000
    ) -> ValidAt:
        """Ask for what is valid."""
        record = registration(
            self.text, self.created_at, start=self.start, version=self.version, registration=1, name=self.query.name
        )
        status = control.StatusRecord(
            self.query.name, self.version, 1, "matcher_algebra", 0, "running", AT, position=self.position
        )
        results = Results(self.seen, TOPICS, self.recent(), self.most)
        pattern_status = PatternStatus("running", status=status)
        return results.valid(record, pattern_status, Asked(version, None if at is None else str(at), cursor, most))

    def recent(self) -> RecentMatches:
        """Return what keeps the newest matches."""
        recent, reader = RecentMatches(), self.log.reader(None)
        places = reader.partitions(TOPICS.matches)
        ends = reader.ends(places)
        rings = recent.anew({each.partition: first for each, (first, _) in ends.items()}, {})
        reader.assign({each: first for each, (first, _) in ends.items()})
        for record in reader.poll(0, 10_000):
            name, match = read_match(record)
            if match is not None:
                rings.take(name, match)
        recent.show(rings)
        return recent


def rows(found: ValidAt) -> list[tuple[str, str, list[int | None], str]]:
    """Return ends, intervals and kinds."""
    return [(each.source, each.target, list(each.valid), each.kind.value) for each in found.found]


def find_expected(query: GraphQuery, edges: Iterable[Edge], at: int) -> dict[tuple[str, ...], int]:
    """Return the rows of the snapshot and until when they are valid, from the records up to the instant."""
    oracle = GraphQueryOracle(query)
    for edge in edges:
        if edge.ts <= at:
            oracle.push(edge)
    valid = oracle.snapshot(at)[query.outputs[0].head]
    intervals = {key[1]: each for key, each in oracle.intervals().items()}
    return {row: next(end for begin, end in intervals[row] if begin <= at < end) for row in valid}


def reports_of(query: GraphQuery, edges: Iterable[Edge]) -> Iterator[bytes]:
    """Yield the match records of all reports of a query, in order."""
    oracle = GraphQueryOracle(query)
    for edge in edges:
        for emitted in oracle.push(edge):
            times = dict.fromkeys(("detected_at", "first_ts", "last_ts"), int(edge.ts))
            ends = dict(zip(query.outputs[0].columns, emitted.row, strict=True))
            bound = {"src": emitted.row[0], "dst": emitted.row[1]} if len(emitted.row) == 2 else {"bindings": ends}
            id = result_id(query.name, 1, emitted.label, emitted.row)
            record = {"match_id": id, "query": query.name, "kind": emitted.kind.value, **times, **bound}
            yield json.dumps({**record, "label": emitted.label, "valid": emitted.valid, "nth": emitted.nth}).encode()


def random_worlds(count: int) -> Iterator[tuple[random.Random, GraphQuery, tuple[Edge, ...], World]]:
    """Yield queries and streams, with their reports among matches of others."""
    for seed in range(count):
        rng = random.Random(seed)
        query, edges = random_graph_query(rng, SHAPE), random_stream(rng, STREAM)
        world = World(print_pattern(query))
        for edge in edges:
            world.edges(int(edge.ts))
        yield rng, query, edges, world


def test_what_is_valid_is_the_snapshot_of_any_instant(monkeypatch: pytest.MonkeyPatch) -> None:
    results = begun_before = 0
    for rng, query, edges, world in random_worlds(150):
        begun: dict[str, list[int]] = {}
        for line in reports_of(query, edges):
            world.write(*[NOISE] * rng.randrange(3), line)
            if (emitted := json.loads(line))["kind"] == "match":
                begun.setdefault(emitted["match_id"], []).append(emitted["detected_at"])
        last = int(edges[-1].ts)
        for at in rng.sample(range(int(edges[0].ts) - 3, last + 12), 5):
            monkeypatch.setattr(emitted_module, "_AT_ONCE", rng.choice((1, 4, 1_024)))
            found, want = world.valid(at), find_expected(query, edges, at)
            ends = {tuple(each.bindings.values()): each.valid[1] for each in found.found}
            assert ends == want
            assert len(found.found) == len(want)
            for each in found.found:
                since = max(ts for ts in begun[each.match_id] if ts <= at)
                is_begun = each.kind.value == "match"
                assert each.valid[0] == since if is_begun else since < each.valid[0] <= at
                assert (each.detected_at, each.first_ts) == (each.valid[0], each.valid[0])
                begun_before += not is_begun
            assert (found.at, found.read_to, found.flaws == []) == (at, last, at <= last)
            results += len(found.found)
    assert results > 300
    assert begun_before > 10, "some must have begun more than a window before"


def test_a_query_that_was_registered_later_misses_nothing_where_it_says_so() -> None:
    complete = incomplete = 0
    for rng, query, edges, world in random_worlds(150):
        start = rng.randrange(1, len(edges))
        world.start, began = start, int(edges[start - 1].ts)
        # Changes by edges of the same time before are not reported; the reports are cut there.
        world.write(*(line for line in reports_of(query, edges) if json.loads(line)["detected_at"] > began))
        for at in rng.sample(range(began, int(edges[-1].ts) + 1), min(3, int(edges[-1].ts) - began)):
            found, want = world.valid(at), find_expected(query, edges, at)
            rows = {tuple(each.bindings.values()) for each in found.found}
            assert rows <= want.keys()
            assert (found.flaws == []) == (at - match_lookback(query, TimeUnit.MILLISECOND) >= began)
            assert found.flaws or rows == want.keys()
            complete, incomplete = complete + (not found.flaws), incomplete + (rows < want.keys())
    assert complete > 100
    assert incomplete > 10


def a_world(**more: Any) -> World:
    """Return a world: u -> v is valid in [1, 40), v -> w in [3, 13), and u -> w was withdrawn at 9."""
    world = World(**more)
    world.edges(1, 3, 5, 9, 20, 30)
    world.emitted("match", 1, "u", "v", 11)
    world.emitted("match", 3, "v", "w", 13)
    world.emitted("match", 5, "u", "w", 15)
    world.emitted("extend", 9, "u", "v", 19)
    world.emitted("retract", 9, "u", "w", 15)
    for at in (18, 26, 30):
        world.emitted("extend", at, "u", "v", at + 10)
    return world


def test_what_an_engine_writes_is_read(deployment: Deployment) -> None:
    text = "QUERY p reach(x, y) <- a+(x, y) AS way. ON s WINDOW(10) RETURN way"
    deployment.http.post("/api/v1/patterns", json={"text": text})
    edges = [{"ts": 1, "src": "u", "dst": "v"}, {"ts": 2, "src": "v", "dst": "w"}, {"ts": 5, "src": "u", "dst": "v"}]
    for line in dry_run(text, [json.dumps({**each, "label": "a"}).encode() for each in edges]).matches:
        deployment.writer.write([matches.encode(TOPICS.matches, line, 1, None)])
    found = {(each["src"], each["dst"]): (each["valid"], len(each["path"])) for each in ask(deployment).json()["results"]}
    assert found == {("u", "v"): ([1, 15], 1), ("v", "w"): ([2, 12], 1), ("u", "w"): ([2, 12], 2)}


def test_now_is_as_far_as_the_query_has_read() -> None:
    world = a_world()
    found = world.valid()
    assert (found.at, found.read_to, found.flaws) == (30, 30, [])
    assert rows(found) == [("u", "v", [26, 40], "extend")], "it began more than a window before"
    world.position = 1
    world.edges(33)
    assert world.valid().at == 33
    world.position = None
    assert (world.valid().at, world.valid().flaws) == (30, []), "it has read what it reported"


def test_before_all_reports_nothing_is_valid() -> None:
    assert (rows(a_world().valid(-5)), a_world().valid(-5).flaws) == ([], [])


def test_a_time_to_come_is_answered_as_far_as_is_known() -> None:
    found = a_world().valid(39)
    assert rows(found) == [("u", "v", [30, 40], "extend")]
    (flaw,) = found.flaws
    assert flaw == "the query has read its stream up to 30: edges up to 39 may come and change it"
    assert rows(a_world().valid(40)) == []


def test_a_date_is_a_time() -> None:
    assert a_world().valid("1970-01-01T00:00:00.009Z").at == 9
    for at, said in (
        ("soon", "is not a time"),
        ("9" * 19, "is not a time"),
        ("1970-01-01T00:00:00.0001Z", "not a whole number of ms"),
    ):
        with pytest.raises(ProblemError, match=said) as refused:
            a_world().valid(at)
        assert (refused.value.status, refused.value.code) == (422, "invalid-time")
    empty = World()
    with pytest.raises(ProblemError, match="before its first edge"):
        empty.valid("1970-01-01T00:00:00.009Z")
    assert (empty.valid(9).at, empty.valid(9).found, len(empty.valid(9).flaws)) == (9, [], 1)
    assert (empty.valid().at, empty.valid().read_to, len(empty.valid().flaws)) == (None, None, 1)


def test_results_that_stay_are_all_that_were_reported_and_not_withdrawn() -> None:
    world = World(STAYING)
    world.edges(1, 3, 500)
    world.emitted("match", 1, "u", "v", None)
    world.emitted("match", 3, "v", "w", None)
    world.emitted("retract", 3, "v", "w", None)
    assert (rows(world.valid()), world.valid().flaws) == ([("u", "v", [1, None], "match")], [])
    world.start = 1
    world.edges(501)
    assert "before is missing" in world.valid().flaws[0]


def test_what_the_log_has_let_go_is_said_to_be_missing() -> None:
    world = a_world(created_at=AFTER)
    world.let_go(3)
    assert (world.valid(9).flaws, world.valid(30).flaws) == ([], []), "nothing of the query stood before it was registered"
    world.created_at = BEFORE
    (flaw,) = world.valid(9).flaws
    assert "does not keep" in flaw
    assert world.valid(30).flaws == [], "the window before is there"


def test_a_bound_that_is_met_is_said() -> None:
    for most in (Most(matches=2), Most(bytes=300)):
        world = a_world(most=most, text=STAYING)
        (flaw,) = world.valid().flaws
        assert flaw == "only 2 matches of all patterns were looked at, back to what was reported at 26"


def test_an_instant_long_ago_is_found_without_a_look_at_all_that_came_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emitted_module, "_AT_ONCE", 4)
    world = World(most=Most(matches=50))
    world.edges(*range(1, 201))
    for at in range(1, 201):
        world.emitted("match", at, "u", f"v{at}", at + 10)
        world.write(*[NOISE] * 3)
    for at in (5, 100, 190):
        assert sorted(each.first_ts for each in world.valid(at).found) == list(range(max(1, at - 9), at + 1))
        assert world.valid(at).flaws == []
    world.epoch = 1
    world.edges()
    world.edges(*range(1, 201))
    assert "only 50 matches" in world.valid(100).flaws[0], "in a stream that began anew times are in no order"


def test_an_epoch_knows_nothing_of_those_before() -> None:
    world = World()
    world.edges(1, 3, 900)
    world.emitted("match", 3, "u", "v", 13)
    world.emitted("match", 900, "x", "y", 910)
    world.epoch = 1
    world.edges()
    world.edges(4, 5, 8)
    assert (rows(world.valid()), world.valid().at, world.valid().flaws) == ([], 8, [])
    world.emitted("match", 5, "v", "w", 15)
    assert rows(world.valid()) == [("v", "w", [5, 15], "match")]
    assert rows(world.valid(5)) == [("v", "w", [5, 15], "match")]


def test_what_was_found_in_history_or_cannot_be_read_is_left_out() -> None:
    world = a_world()
    late = {"match_id": "0" * 32, "query": "q", "kind": "match", "detected_at": 29, "first_ts": 29, "last_ts": 29}
    body = json.dumps({**late, "src": "a", "dst": "b", "label": "near", "valid": [29, 39]}).encode()
    world.write(body, backfilled=True)
    assert (len(world.valid().found), world.valid().flaws) == (1, [])
    world.write(json.dumps({**late, "valid": "for ever"}).encode())
    assert (len(world.valid().found), world.valid().flaws) == (1, ["a match cannot be read"])


def test_results_that_were_given_up_are_said_to_be_missing() -> None:
    world = World()
    world.edges(1)
    body = {"match_id": "0" * 32, "query": "q", "kind": "match", "detected_at": 1, "first_ts": 1, "last_ts": 1}
    world.write(json.dumps({**body, "bindings": {"x": "u"}, "label": "l", "valid": [1, 9], "completeness": "SHED"}).encode())
    assert (len(world.valid().found), "SHED" in world.valid().flaws[0]) == (1, True)


def test_results_are_those_of_one_version() -> None:
    world = a_world(version=2)
    world.emitted("match", 30, "x", "y", 40, version=2)
    assert (rows(world.valid()), world.valid().version) == ([("x", "y", [30, 40], "match")], 2)
    older = world.valid(version=1)
    assert (rows(older), len(older.flaws)) == ([("u", "v", [1, 40], "match")], 1)
    with pytest.raises(ProblemError, match="versions 1 to 2, and has no version 3"):
        world.valid(version=3)


def test_pages_hold_every_result_once() -> None:
    world = World()
    world.edges(1)
    for number in range(7):
        world.emitted("match", 1, "u", f"v{number}", 11)
    page = world.valid(most=3)
    pages = [page]
    while page.following is not None:
        world.edges(1 + len(pages))  # time passes, the pages are those of one instant
        assert ResultsCursor.of(str(page.following)) == page.following
        page = world.valid(cursor=page.following, most=3)
        pages.append(page)
    found = [each.match_id for page in pages for each in page.found]
    assert [len(page.found) for page in pages] == [3, 3, 1]
    assert (len(set(found)), found) == (7, sorted(found))
    cursor = ResultsCursor(1, EventTime(1), found[2])
    assert world.valid(1, cursor=cursor, version=1).at == 1
    with pytest.raises(ProblemError, match="another version or time"):
        world.valid(2, cursor=cursor)
    with pytest.raises(ProblemError, match="another version or time"):
        world.valid(cursor=cursor, version=2)


QUERY = "QUERY p near(x, y) <- a+(x, y). ON s WINDOW(10)"
PATTERN = "PATTERN p MATCH (x)-[:a]->(y) ON s WINDOW 5"


def ask(deployment: Deployment, query: str = "", name: str = "p") -> Any:
    return deployment.http.get(f"/api/v1/patterns/{name}/results{query}")


def test_results_come_over_http(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": QUERY})
    ids = [result_id("p", 1, "near", ("u", target)) for target in "vw"]
    for id, target in zip(ids, "vw", strict=True):
        common = {"match_id": id, "query": "p", "kind": "match", "detected_at": 1, "first_ts": 1, "last_ts": 1}
        body = {**common, "src": "u", "dst": target, "label": "near", "valid": [1, 11]}
        deployment.writer.write([matches.encode(TOPICS.matches, json.dumps(body).encode(), 1, None)])
    pages = [ask(deployment, "?at=5&limit=1").json()]
    pages.append(ask(deployment, f"?cursor={pages[0]['next']}").json())
    assert [[each["match_id"] for each in page["results"]] for page in pages] == [[id] for id in sorted(ids)]
    (first,) = pages[0].pop("results")
    assert (first["src"], first["label"], first["valid"]) == ("u", "near", [1, 11])
    assert (pages[0]["version"], pages[0]["at"], pages[0]["read_to"], pages[0]["complete"]) == (1, 5, 1, False)
    assert pages[0]["notes"] == ["the query has read its stream up to 1: edges up to 5 may come and change it"]
    assert pages[1]["next"] is None


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("?at=soon", 422, "invalid-time"),
        ("?at=", 422, "invalid-time"),
        (f"?at={'1' * 101}", 422, "invalid-request"),
        ("?version=0", 422, "invalid-request"),
        ("?version=7", 404, "not-found"),
        ("?limit=0", 422, "invalid-request"),
        ("?limit=10001", 422, "invalid-request"),
        ("?cursor=0-17", 400, "bad-cursor"),
        (f"?cursor=1.{'9' * 19}.{'a' * 32}", 400, "bad-cursor"),
        (f"?cursor=1.5.{'a' * 32}&at=6", 400, "bad-cursor"),
        ("?time=5", 422, "unknown-parameter"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked_deployment: Deployment, query: str, status: int, code: str) -> None:
    asked_deployment.http.post("/api/v1/patterns", json={"text": QUERY})
    asked_deployment.write(TOPICS.plans, b"p", None)
    answer = ask(asked_deployment, query)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_only_graph_queries_that_are_registered_have_results(deployment: Deployment) -> None:
    deployment.http.post("/api/v1/patterns", json={"text": PATTERN})
    assert (ask(deployment).status_code, ask(deployment).json()["code"]) == (422, "no-graph-query")
    assert ask(deployment, name="unknown").status_code == 404
    for key, status in (("writer", 403), ("reader", 422)):
        answer = deployment.http.get("/api/v1/patterns/p/results", headers={"X-API-Key": key})
        assert answer.status_code == status
