"""Chaos over a whole deployment on real servers, and the account of every match afterwards.

`python -m graphtide_testing.chaos [--kills 1000] [--seed 1] [--calm 60] [--evidence FILE]`

Every service runs with two shards, where it has shards. Several producers send edges side by side, each at its own pace, so
that the sequencer has disorder to put right. Users register, replace and delete patterns all the time, and ask for other
engines, so that plans move between services and shards. Meanwhile any of the services, Kafka and the primary of Redis are
killed. So are twins, which were started under the identity of a process that runs. Redis also loses all that it has. Patterns
are of all four families. A view has a reader, a query reads two streams that are merged, every third request is traced. A
stream is in parts: a pattern runs in each of them, and another reads them merged. An enemy writes records with odd headers to
every topic, registers patterns whose planning or matching explodes, and feeds them (`graphtide_testing.hostility`).

After the kills comes a calm time with all of that but kills. There it is measured how long the innocent wait for their matches.
That is from the time of the ordered record to that of the match, by the log.

In the end the deployment settles, and `graphtide_testing.accounting` checks the accounts. Registrations are in the topic of
patterns, ordered records in the ordered topic. Every edge but the first completes one match of every pattern. Exits with 1 if a
match was lost, repeated, or reported before its pattern's start. Then `--evidence` keeps what was said of such patterns, and
what was reported of them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import httpx2
from graphtide_core.errors import PoisonRecordError, UnreadableStreamError
from graphtide_core.ids import StreamName
from graphtide_core.match import MatchKind
from graphtide_core.merged_streams import merge, merge_parts, parts_of
from graphtide_core.plans import PathEngine
from graphtide_log.follower import Follower
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_native.records import ArrowDecoder, Symbols
from graphtide_query.families import AUTO, FAMILIES
from graphtide_wire import control, matches

from graphtide_testing import hostility
from graphtide_testing.accounting import Account, completed_by
from graphtide_testing.deployment import Deployment
from graphtide_testing.fleet import KAFKA, REDIS_FAILOVER, REDIS_FLUSH, TWIN, Fleet
from graphtide_testing.hostility import Fates, Hostility
from graphtide_testing.servers.process import free_ports
from graphtide_testing.tail import Tail
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from graphtide_core.ports.log import Record

STREAM: Final = StreamName("s")
NAMES: Final = tuple(f"p{number}" for number in range(12))
_SIMULATION: Final = (AUTO, "ddst-coloring", "ddst-signature")
_ANSWERING: Final = (AUTO, *(engine.value for engine in PathEngine))
_TWO_EDGES: Final = "PATTERN {name} MATCH (a)-[x:k]->(b)-[y:k]->(c) ORDER x < y"
_ISOMORPHIC: Final = f"{_TWO_EDGES} ON {STREAM} WINDOW {{window}}"
_SEQUENCE: Final = f"PATTERN {{name}} SEQ(x:k, y:k) ON {STREAM} WITHIN 1"
"""Times of edges are one apart: of a pattern without more conditions each edge completes a match with the one before it."""

VIEW: Final = StreamName("seen")
OTHER: Final = StreamName("t")
MERGED: Final = merge((STREAM, OTHER))
DIVIDED: Final = StreamName("d")
_PARTS: Final = 3
WHOLE: Final = merge_parts(DIVIDED, _PARTS)
STATEMENT: Final = f"STREAM {DIVIDED} SET kin = kin PARTITION BY kin PARTS {_PARTS}"
_KIN: Final = 5
"""Values of the key of the divided stream: each is that of a chain of edges of its own."""

_LONG: Final = 10**9
LASTING: Final = {
    "keeper": (_ISOMORPHIC, STREAM),
    "seen": (
        f"GRAPH VIEW {{name}} AS (CONSTRUCT (a)-[:k]->(b) MATCH (a)-[:k]->(b) ON {STREAM} WINDOW({{window}}))",
        None,
    ),
    "reader": (f"{_TWO_EDGES} ON {VIEW} WINDOW {{window}}", VIEW),
    "both": (
        f"QUERY {{name}} INPUT a = ()-[:k]->() ON {STREAM} WINDOW({{window}}) "
        f"INPUT b = ()-[:l]->() ON {OTHER} WINDOW({{window}}) two(x, z) <- a(x, y), b(y, z).",
        MERGED,
    ),
    "parted": (
        f"PATTERN {{name}} MATCH (a)-[x:m]->(b)-[y:m]->(c) WHERE x.kin = y.kin ORDER x < y ON {DIVIDED} WINDOW {{window}}",
        DIVIDED,
    ),
    "whole": (f"PATTERN {{name}} MATCH (a)-[x:m]->(b)-[y:m]->(c) ORDER x < y ON {DIVIDED} WINDOW {{window}}", WHOLE),
}
"""Patterns that are there all the time, and the streams whose edges complete their matches; None is not accounted for.

The window of the keeper makes the sequencer remember ids for longer than all of this takes.
"""

ENGINES: Final = {
    _ISOMORPHIC: (AUTO, *FAMILIES["isomorphism"].names),
    f"{_TWO_EDGES} UNDER DUAL SIMULATION REPORT INSTANCES ON {STREAM} WINDOW {{window}}": _SIMULATION,
    # A query of CHANGES emits each edge once more when it leaves the window, so its work grows with the window.
    f"{_TWO_EDGES} UNDER DUAL SIMULATION REPORT CHANGES ON {STREAM} WINDOW {{short}}": _SIMULATION,
    f"QUERY {{name}} two(a, c) <- k(a, b), k(b, c). ON {STREAM} WINDOW({{window}})": _ANSWERING,
    f"QUERY {{name}} two(a, c) <- /:k :k/(a, c) AS way. ON {STREAM} WINDOW({{window}}) RETURN way": _ANSWERING,
    _SEQUENCE: (AUTO, AUTO),
}
"""Patterns' texts, with the engines of each; every edge after the first completes one match."""

SHARDS: Final = {
    "matcher_timing": 2,
    "matcher_sjtree": 2,
    "matcher_simulation": 2,
    "matcher_algebra": 2,
    "matcher_event_pattern": 2,
}
PRODUCERS: Final = 3
PATIENCE: Final = 240.0
_IDLE_SECONDS: Final = 8.0
"""How long a source that says nothing is waited for."""

_REST_SECONDS: Final = _IDLE_SECONDS + 4
"""How long nothing came when all that was sent has come."""

_HEAR_SECONDS: Final = 1.0
_NOWHERE: Final = -1
"""Place of an edge that completes nothing: before every start."""

_OTHERS: Final = "t"
"""Begins the ids of edges of the other stream."""

_TRACED: Final = 3
_HOSTILE: Final = 0.3
"""How often requests are traced, and how often the enemy does something."""

_ROWS_OF_A_RECORD: Final = 1_000_000
"""Places of edges are offsets of their records times this, and their rows."""

_PLACES_OF_A_PART: Final = 10**15

SHARDED: Final = {"LINGER_SECONDS": "0.05", "CHECKPOINT_SECONDS": "0.5", "COUNTS_SECONDS": "0.2"}


@dataclass
class Chaos:
    """A deployment under chaos.

    Attributes:
        rng: decides what happens next.
        folder: where everything is kept.
        ended: services that had ended by themselves before the deployment settled, as often as they had.
        health: ports of matchers' health, by their names in the fleet.
    """

    rng: Random
    folder: Path

    def __post_init__(self) -> None:
        """Prepare; nothing is started."""
        self.deployment = Deployment(self.folder, sentinels=True)
        self.fleet = Fleet(self.deployment, self.rng)
        self._sent = [0] * PRODUCERS
        self._next = 0
        self._heard_at = 0.0
        self._calm_at = self._calm_to = 0.0
        self.waited: list[int] = []
        self._heard: list[Record] = []
        self._said: list[Record] = []
        self._requests = 0
        self._registrations: Tail | None = None
        self._others: list[Tail] = []
        self._came: list[int] = []
        self._rested: tuple[list[int], float] = [], 0.0
        self.ended: list[str] = []
        self.health: dict[str, int] = {}

    def start(self) -> None:
        """Start servers and services."""
        self.deployment.start_servers()
        edges, admin = free_ports(2)
        self.edges = httpx2.Client(base_url=f"http://127.0.0.1:{edges}", timeout=10)
        self.control = httpx2.Client(base_url=f"http://127.0.0.1:{admin}", timeout=10)
        everyone = {"INSECURE": "true", "REQUESTS_PER_SECOND": "10000", "BURST": "10000"}
        streams = json.dumps([STREAM, OTHER, DIVIDED, hostility.STREAM])
        sent = {"CREATE_STREAMS": "true", "STREAMS": streams, "IDLE_SECONDS": str(_IDLE_SECONDS), "LATENESS": "0"}
        # It makes the topics that the others read.
        self.fleet.add("ingestion", {**everyone, **sent, "PORT": str(edges)}, is_ready=self._ingestion_lives)
        self.fleet.add("admin_api", {**everyone, "PORT": str(admin)})
        self.fleet.add("planner", {"SHARDS": json.dumps(SHARDS)})
        self.fleet.add("statistics", {"PUBLISH_SECONDS": "1.0"})
        for service, shards in SHARDS.items():
            for shard in range(shards):
                name = f"{service}.{shard}"
                (self.health[name],) = free_ports(1)
                configured = {**SHARDED, "SHARD": str(shard), "HEALTH__PORT": str(self.health[name])}
                self.fleet.add(service, configured, name)
        self._until(self._is_ready, "the deployment is ready")
        topics = self.deployment.topics
        self._registrations = Tail(self._log(), topics.patterns)
        self._others += [Tail(self._log(), topic) for topic in (topics.plans, topics.status)]
        self._until(self._is_stated, "the stream is divided")
        for name, (form, _) in LASTING.items():
            self._ask("POST", "/api/v1/patterns", {"text": _text(name, _LONG, form)})
        self.enemy = Hostility(self.rng, self.deployment.kafka.bootstrap, topics, (STREAM, OTHER, VIEW, MERGED))
        self._register_for_the_enemy(self.enemy.first_pattern())

    def _is_stated(self) -> bool:
        return self.control.put(f"/api/v1/streams/{DIVIDED}", json={"text": STATEMENT}).status_code in {200, 201}

    def run(self, kills: int) -> None:
        """Run until so many processes were killed."""
        while self.fleet.killed < kills:
            self.go_on(self.rng.randint(4, 10))
            servers = (KAFKA, TWIN, REDIS_FAILOVER, REDIS_FLUSH)
            self.fleet.kill(self.rng.choice([*self.fleet.programs, *self.fleet.programs, *servers, *servers]))
            self._hear()

    def go_on(self, steps: int) -> None:
        """Let producers, users and the enemy do something, so many times."""
        for _ in range(steps):
            self._send(self.rng.randrange(PRODUCERS))
            self._user_does_something()
            if self.rng.random() < _HOSTILE:
                self._enemy_does_something()

    def be_calm(self, seconds: float) -> None:
        """Run for a while without kills; matches of that time count for `waited`."""
        self._until(self._is_ready, "the deployment is ready")
        self._calm_at = time.time() * 1_000
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for producer in range(PRODUCERS):
                self._send(producer, 2)
            if self.rng.random() < _HOSTILE:
                self._enemy_does_something()
        self._calm_to = time.time() * 1_000

    def settle(self) -> dict[str, list[str]]:
        """Let the deployment settle; return what is wrong, by pattern."""
        self.ended += self.fleet.start_ended()
        self._until(self._is_ready, "the deployment is ready")
        for producer in range(PRODUCERS):
            self._send(producer, 40 * PRODUCERS)
        with suppress(AssertionError):
            # What is wrong then is in the account.
            self._until(self._is_settled, "every pattern is matched to the end", 2 * PATIENCE)
        wrong = self.account()
        if wrong:
            # An account reads topic by topic, and an edge may still come meanwhile. What is wrong stays wrong.
            with suppress(AssertionError):
                self._until(self._is_settled, "every pattern is matched to the end", PATIENCE)
            wrong = self.account()
        self._hear()
        fates = self.fates()
        idle = {} if fates.ran else {hostility.NAMES: [f"none of the enemy's patterns ran: {fates}"]}
        states = {name: state for name, state in self._states().items() if not name.startswith(hostility.NAMES)}
        return {name: [f"it is {state}"] for name, state in states.items() if state != "running"} | idle | wrong

    def fates(self) -> Fates:
        """Return what became of the enemy's patterns, as far as hosts said it."""
        status = self.deployment.topics.status
        return hostility.fates((record for record in self._said if record.topic == status), self.enemy.refused)

    def account(self) -> dict[str, list[str]]:
        """Return what is wrong, by pattern; patterns without errors are left out."""
        log, topics = self._log(), self.deployment.topics
        places: dict[StreamName, dict[str, int]] = {}
        ordered_at: dict[str, int] = {}
        for stream in (STREAM, VIEW, MERGED):
            records = _read(log, topics.ordered(stream))
            times = {record.offset * _ROWS_OF_A_RECORD: record.timestamp for record in records}
            places[stream] = dict(_completing(records))
            if stream == MERGED:
                # What completes a result of both is the edge of the other stream.
                places[stream] = {id: place for id, place in places[stream].items() if id.startswith(_OTHERS)}
            ordered_at |= {id: times[place // _ROWS_OF_A_RECORD * _ROWS_OF_A_RECORD] for id, place in places[stream].items()}
        places |= self._places_in_parts()
        read = {name: stream for name, (_, stream) in LASTING.items() if stream is not None} | dict.fromkeys(NAMES, STREAM)
        got: dict[str, list[tuple[int, int]]] = {name: [] for name in read}
        answered, self.waited = 0, []
        for record in _read(log, topics.matches):
            try:
                event = matches.decode(record)
            except PoisonRecordError:
                continue
            answered += _is_result(event.body)
            if event.pattern not in read or event.kind is MatchKind.RETRACT:
                # What left a window: no edge is ever deleted.
                continue
            edge = _completing_edge(event.body, read[event.pattern])
            got[event.pattern].append((event.version, places[read[event.pattern]].get(edge, _NOWHERE)))
            if self._calm_at <= ordered_at.get(edge, -1) < self._calm_to:
                self.waited.append(record.timestamp - ordered_at[edge])
        self._hear()
        accounts = {name: account for name, account in _accounts(self._heard).items() if name in read}
        ordered = {stream: sorted(found.values()) for stream, found in places.items()}
        found = {name: account.flaws(got[name], ordered[read[name]]) for name, account in accounts.items()}
        self.matched = sum(map(len, got.values()))
        self.answered = answered
        self.ordered = len(ordered[STREAM])
        self._came = [len(found) for found in ordered.values()]
        self.registered = sum(len(life.versions) for account in accounts.values() for life in account.registrations)
        return {name: flaws for name, flaws in found.items() if flaws}

    def _places_in_parts(self) -> dict[StreamName, dict[str, int]]:
        """Return the places of the edges of the divided stream that complete matches: in any part, and where parts are merged.

        A part's places follow those of the one before it. The patterns on them begin before the first edge.
        """
        log, topics = self._log(), self.deployment.topics
        found: dict[str, int] = {}
        for number, part in enumerate(parts_of(DIVIDED, _PARTS)):
            own = dict(_completing(_read(log, topics.ordered(part))))
            found |= {id: place + number * _PLACES_OF_A_PART for id, place in own.items()}
        return {DIVIDED: found, WHOLE: dict(_completing(_read(log, topics.ordered(WHOLE))))}

    def keep_evidence(self, names: Iterable[str], file: Path) -> None:
        """Write all that was said and reported of these patterns, a record a line, in the order of the log's time.

        Beside it is a folder with `.logs` behind its name. It has what services and Kafka printed, how far each topic can be
        read of what is written in it, and which services run.
        """
        self._hear()
        reported = _read(self._log(), self.deployment.topics.matches)
        wanted = set(names)
        lines = [
            json.dumps([record.timestamp, record.topic, record.offset, name, (record.value or b"").decode(errors="replace")])
            for record in sorted([*self._heard, *self._said, *reported], key=lambda record: record.timestamp)
            if (name := (record.key or b"").decode(errors="replace").partition("@")[0]) in wanted
        ]
        file.write_text("\n".join(lines) + "\n")
        logs = file.with_name(f"{file.name}.logs")
        logs.mkdir(parents=True, exist_ok=True)
        for name, program in self.fleet.programs.items():
            shutil.copy(program.output, logs / f"{name}.log")
        shutil.copy(self.folder / "kafka" / "kafka.log", logs)
        running = {name: program.is_running() for name, program in self.fleet.programs.items()}
        (logs / "state.json").write_text(json.dumps({"running": running, "readable and written": self._ends()}, indent=1))

    def _ends(self) -> dict[str, list[int]]:
        """Return of each partition how far it can be read, and how much is written; they differ while a transaction is open."""
        log = self._log()
        admin, reader = log.admin(), log.reader(None)
        places = [place for topic in admin.topics() for place in reader.partitions(topic)]
        readable, written = reader.ends(places), admin.written(places)
        reader.close()
        return {f"{place.topic}/{place.partition}": [readable[place][1], written[place]] for place in places}

    def end(self) -> None:
        """End everything at once."""
        self.edges.close()
        self.control.close()
        self.deployment.end()

    def _hear(self) -> None:
        """Read what was registered and said: topics of control are compacted, and what was replaced goes at any time."""
        self._heard_at = time.monotonic()
        if self._registrations is not None:
            self._heard += self._registrations.read()
        self._said += [record for tail in self._others for record in tail.read()]

    def _send(self, producer: int, edges: int | None = None) -> None:
        """Send some of a producer's edges, again until they are taken: its share of one chain of edges."""
        lines, others, divided = [], [], []
        for _ in range(edges or self.rng.randint(1, 6)):
            number = self._sent[producer] * PRODUCERS + producer
            self._sent[producer] += 1
            ends = {"src": f"v{number}", "dst": f"v{number + 1}"}
            lines.append({"id": f"e{number}", "ts": number, "label": "k", **ends})
            others.append({"id": f"{_OTHERS}{number}", "ts": number, "label": "l", "src": ends["dst"], "dst": f"w{number}"})
            kin = {"kin": number % _KIN, "src": f"u{number}", "dst": f"u{number + _KIN}"}
            divided.append({"id": f"d{number}", "ts": number, "label": "m", **kin})
        configured = {"content-type": "application/x-ndjson", "graphtide-producer": f"producer-{producer}"}
        self._requests += 1
        if self._requests % _TRACED == 0:
            configured["traceparent"] = f"00-{self.rng.getrandbits(128) | 1:032x}-{self.rng.getrandbits(64) | 1:016x}-01"
        for stream, sent in ((STREAM, lines), (OTHER, others), (DIVIDED, divided)):
            self._post(stream, b"".join(json.dumps(line).encode() + b"\n" for line in sent), configured)

    def _post(self, stream: StreamName, body: bytes, headers: Mapping[str, str]) -> None:
        """Send edges, again until they are taken."""

        def is_taken() -> bool:
            answer = self.edges.post(f"/api/v1/streams/{stream}/edges", content=body, headers=dict(headers))
            assert answer.status_code in {202, 429, 503}, answer.text
            return answer.status_code == 202

        self._until(is_taken, "edges are taken")

    def _enemy_does_something(self) -> None:
        match self.rng.randrange(4):
            case 0:
                self._register_for_the_enemy(self.enemy.pattern())
            case 1:
                self._ask("DELETE", f"/api/v1/patterns/{hostility.NAMES}{self.rng.randrange(4)}")
            case 2:
                self._post(hostility.STREAM, self.enemy.edges(), {"content-type": "application/x-ndjson"})
            case _:
                # The brokers may be away.
                with suppress(OSError):
                    self.enemy.send_odd_record()

    def _register_for_the_enemy(self, text: str) -> None:
        # Whether there is one of the name already or not: If-Match would refuse all that are new.
        answered = self._ask("PUT", f"/api/v1/patterns/{text.split()[1]}", {"text": text}, only_if=None)
        self.enemy.refused += answered == 422

    def _user_does_something(self) -> None:
        name, window = self.rng.choice(NAMES), self.rng.randint(10**6, 10**8)
        match self.rng.randint(0, 3):
            case 0:
                self._ask("DELETE", f"/api/v1/patterns/{name}")
            case 1:
                self._ask(
                    "PATCH", f"/api/v1/patterns/{name}", {"engine": self.rng.choice(self.rng.choice(list(ENGINES.values())))}
                )
            case _:
                form = self.rng.choice(list(ENGINES))
                planner_options = {"text": _text(name, window, form), "engine": self.rng.choice(ENGINES[form])}
                self._ask("PUT", f"/api/v1/patterns/{name}", planner_options, only_if=self.rng.choice(["*", None]))

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None, only_if: str | None = "*") -> int | None:
        """Ask the API for something; return the status of its answer. Whether it heard is read in the topic of patterns."""
        headers = {"if-match": only_if} if only_if is not None and method != "POST" else {}
        with suppress(httpx2.TransportError):
            answer = self.control.request(method, path, json=body, headers=headers)
            assert answer.status_code != 500, answer.text
            return answer.status_code
        return None

    def _is_ready(self) -> bool:
        return self.edges.get("/readyz").status_code == 200 and self.control.get("/readyz").status_code == 200

    def _ingestion_lives(self) -> bool:
        with suppress(httpx2.TransportError):
            return self.edges.get("/livez").status_code == 200
        return False

    def _is_settled(self) -> bool:
        # Operators restart services that ended.
        self.ended += self.fleet.start_ended()
        states = self._states()
        innocent = {state for name, state in states.items() if not name.startswith(hostility.NAMES)}
        return innocent == {"running"} and not self.account() and self._is_at_rest()

    def _is_at_rest(self) -> bool:
        """Whether no edge has come for longer than silent sources are waited for: before that an account counts too early."""
        if self._came != self._rested[0]:
            self._rested = self._came, time.monotonic()
        return time.monotonic() - self._rested[1] > _REST_SECONDS

    def _states(self) -> dict[str, str]:
        listed = self.control.get("/api/v1/patterns", params={"limit": 200}).json()["patterns"]
        return {each["name"]: each["state"] for each in listed}

    def _until(self, holds: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
        def is_so() -> bool:
            if self._registrations is not None and time.monotonic() - self._heard_at > _HEAR_SECONDS:
                self._hear()
            with suppress(httpx2.TransportError, KeyError):
                return holds()
            return False

        wait_until(is_so, seconds, lambda: what)

    def _log(self) -> KafkaLog:
        return KafkaLog(KafkaConnection(self.deployment.kafka.bootstrap))


def _text(name: str, window: int, form: str) -> str:
    return form.format(name=name, window=window, short=window % 80 + 20)


def _is_result(body: bytes) -> bool:
    """Whether a match record is of a graph query."""
    return "valid" in json.loads(body)


def _completing_edge(body: bytes, stream: StreamName) -> str:
    """Return the id of the edge that completed a match; that of a result is the one that leads to its target."""
    if not _is_result(body):
        return completed_by(body)
    target = int(json.loads(body)["dst"][1:])
    return f"{_OTHERS}{target}" if stream == MERGED else f"e{target - 1}"


def _read(log: KafkaLog, topic: str) -> list[Record]:
    follower = Follower(log, topic)
    try:
        return sorted(follower.committed(), key=lambda record: (record.partition, record.offset))
    finally:
        follower.close()


def _completing(records: list[Record]) -> Iterator[tuple[str, int]]:
    """Yield the edges whose predecessor went out before them, each with its place."""
    seen: set[str] = set()
    decoder = ArrowDecoder(Symbols(), [], {})
    for record in records:
        try:
            edges = decoder.decode(record.value or b"").to_records()
        except UnreadableStreamError:
            # The enemy wrote it.
            continue
        for row, edge in enumerate(edges):
            if edge["src"] in seen:
                yield edge["id"], record.offset * _ROWS_OF_A_RECORD + row
            seen.add(edge["dst"])


def _accounts(records: list[Record]) -> dict[str, Account]:
    """Return what users asked for, according to the topic of patterns."""
    accounts: dict[str, Account] = {}
    last: dict[str, control.PatternRecord | None] = {}
    for record in records:
        name = (record.key or b"").decode()
        account, before = accounts.setdefault(name, Account()), last.get(name)
        try:
            now = control.decode_pattern(record.value) if record.value is not None else None
        except PoisonRecordError:
            continue
        if now is None:
            if before is not None:
                account.delete()
        else:
            start = (now.start or 0) * _ROWS_OF_A_RECORD
            if before is None:
                account.register(now.version, start)
            elif now.version != before.version:
                account.replace(now.version, start)
                account.unheard += range(before.version + 1, now.version)
        last[name] = now
    return accounts


def _spread(waited: list[int]) -> str:
    """Return the median and the 99th percentile of waits in milliseconds."""
    if not waited:
        return "for nothing"
    found = sorted(waited)
    return f"{found[len(found) // 2]} ms (median), {found[len(found) * 99 // 100]} ms (p99), {len(found)} of them"


def main() -> None:
    """Run the chaos that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calm", type=float, default=60.0, help="seconds without kills, to measure waits")
    parser.add_argument("--evidence", type=Path, help="where to keep what was said of patterns that are wrong, and the logs")
    given = parser.parse_args()
    # Child processes end with this one, also when it gets SIGTERM.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="graphtide-chaos-") as folder:
        chaos = Chaos(Random(given.seed), Path(folder))  # noqa: S311 - a story, no secret
        try:
            chaos.start()
            begun = time.monotonic()
            chaos.run(given.kills)
            chaos.be_calm(given.calm)
            flaws = chaos.settle()
            if flaws and given.evidence is not None:
                chaos.keep_evidence(flaws, given.evidence)
        finally:
            chaos.end()
    sys.stdout.write(
        f"{chaos.fleet.killed} kills in {time.monotonic() - begun:.0f} s ({chaos.fleet.kills}), {chaos.ordered} edges, "
        f"{chaos.registered} versions of patterns, {chaos.matched} matches, {chaos.answered} of them results of graph queries; "
        f"{chaos.enemy.odd} odd records; of the enemy's patterns {chaos.fates()}; in {given.calm:g} calm seconds matches "
        f"waited {_spread(chaos.waited)}; ended by themselves: {chaos.ended or 'none'}; wrong: {flaws or 'nothing'}\n"
    )
    sys.exit(1 if flaws else 0)


if __name__ == "__main__":
    main()
