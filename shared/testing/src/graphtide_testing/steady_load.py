"""A steady load of edges: each edge but the first of its kind completes one match of one pattern.

There are `KINDS` kinds of edges, and a pattern for each; those of the last kinds are under dual simulation, event patterns and
graph queries. Edges have numbers; the edge n has the kind n % KINDS and continues the edge n - KINDS. Among them are edges of a
hub, for adversaries to search, lines that are not edges, and edges that are far in the future. Every third request is traced.
Several producers send one after the other, through any service that answers. Each sends a batch until it is taken, so it is out
of order beside what the others do.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import TYPE_CHECKING, Final

import httpx2
import msgspec
from graphtide_core.errors import PoisonRecordError
from graphtide_core.match import MatchKind
from graphtide_core.plans import PathEngine
from graphtide_wire import matches

from graphtide_testing.accounting import Account

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random
    from threading import Event

    from graphtide_core.ports.log import Record

    from graphtide_testing.accounting import Reported

STREAM: Final = "s"
_SUBGRAPH: Final = f"PATTERN n{{kind}} MATCH (a)-[x:k{{kind}}]->(b)-[y:k{{kind}}]->(c) ORDER x < y ON {STREAM} WINDOW 10s"
_SIMULATION: Final = _SUBGRAPH.replace(" ON ", " UNDER DUAL SIMULATION REPORT INSTANCES ON ")
_SEQUENCE: Final = f"PATTERN n{{kind}} SEQ(x:k{{kind}}, y:k{{kind}}) WHERE x.dst = y.src ON {STREAM} WITHIN 10s"
_JOIN: Final = f"QUERY n{{kind}} two(a, c) <- k{{kind}}(a, b), k{{kind}}(b, c). ON {STREAM} WINDOW(10s)"
_PATH: Final = f"QUERY n{{kind}} two(a, c) <- /:k{{kind}} :k{{kind}}/(a, c) AS way. ON {STREAM} WINDOW(10s) RETURN way"
_SUBGRAPHS: Final = ("auto", "timing", "sj-tree", "filtering", "re-search")
_SIMULATIONS: Final = ("auto", "ddst-coloring", "ddst-signature", "ddst-baseline")
_SEARCHES: Final = [
    *((_SUBGRAPH, engine) for engine in islice(cycle(_SUBGRAPHS), 12)),
    *((_SIMULATION, engine) for engine in _SIMULATIONS),
    (_SEQUENCE, "auto"),
    (_SEQUENCE, "auto"),
    *((text, engine.value) for text, engine in zip((_JOIN, _PATH), PathEngine, strict=True)),
]
PATTERNS: Final = {
    f"n{kind}": {"text": text.format(kind=kind), "engine": engine} for kind, (text, engine) in enumerate(_SEARCHES)
}
"""What is registered, by name."""

KINDS: Final = len(PATTERNS)
_PRODUCERS: Final = 3
_SLICE_SECONDS: Final = 0.25
_MOST_IN_A_TURN: Final = 600
_PATIENCE: Final = 240.0
_TRACED: Final = 3
"""Of so many requests one is traced."""

_NO_EDGES: Final = (b"{", b"[]", b"\xff\xfe", b'{"ts": "x"}', b'{"op": "melt", "ts": 1}', b"x" * 5_000)


@dataclass
class SteadyLoad:
    """Sends edges over HTTP.

    Attributes:
        services: clients of services that take edges.
        rng: decides where what is wrong stands.
        rate: edges a second that complete matches.
        sent: edges that were taken.
        bad: lines that were refused.
        future: edges that were taken and are far in the future.
    """

    services: list[httpx2.Client]
    rng: Random
    rate: int
    sent: int = 0
    bad: int = 0
    future: int = 0
    _requests: int = 0
    _first_ms: int = field(init=False)

    def __post_init__(self) -> None:
        """Begin now."""
        self._first_ms = int(time.time() * 1000)

    def begin(self) -> int:
        """Send an edge of each producer, so that all are known and waited for; return how many.

        Raises:
            AssertionError: they are not taken for long, or refused.
        """
        for producer in range(_PRODUCERS):
            self._post(producer, [self._edge(f"begin{producer}", 0, "begin", "a", "b")])
        return _PRODUCERS

    def run(self, is_over: Event) -> None:
        """Send until it is over, and then what lets the last edges leave; what `begin` sent has been put in order.

        Raises:
            AssertionError: edges are not taken for long, or are refused.
        """
        begun = time.monotonic()
        while not is_over.wait(_SLICE_SECONDS):
            # What could not be sent meanwhile follows.
            due = int((time.monotonic() - begun) * self.rate)
            end = min(due, self.sent + _MOST_IN_A_TURN)
            for producer in range(_PRODUCERS):
                own = (number for number in range(self.sent, end) if number % _PRODUCERS == producer)
                self._send(producer, [line for number in own for line in self._edges(number)])
            self.sent = end
        for producer in range(_PRODUCERS):
            self._post(producer, [self._edge(f"end{producer}", self.sent, "end", "a", "b")])

    def account(self, reported: dict[str, list[Reported]]) -> dict[str, list[str]]:
        """Return what is wrong with what was reported of patterns, by pattern; patterns without errors are left out."""
        account = Account()
        account.register(1, 0)
        found = {
            name: account.flaws(reported.get(name, []), range(kind + KINDS, self.sent, KINDS))
            for kind, name in enumerate(PATTERNS)
        }
        return {name: flaws for name, flaws in found.items() if flaws}

    @property
    def completing(self) -> int:
        """How many matches there must be."""
        return max(0, self.sent - KINDS)

    def _edges(self, number: int) -> Iterable[bytes]:
        kind = number % KINDS
        yield self._edge(f"e{number}", number, f"k{kind}", f"v{number}", f"v{number + KINDS}")
        if number % 2:
            yield self._edge(f"h{number}", number, "x", "hub", f"w{number}")

    def _edge(self, id: str, number: int, label: str, source: str, target: str) -> bytes:
        at = self._first_ms + number * 1000 // self.rate
        return json.dumps({"id": id, "ts": at, "label": label, "src": source, "dst": target}).encode()

    def _send(self, producer: int, lines: list[bytes]) -> None:
        if not lines:
            return
        bad = [self.rng.choice(_NO_EDGES) for _ in range(self.rng.choice((0, 0, 0, 0, 1, 3)))]
        future = [self._of_the_future() for _ in range(self.rng.choice((0, 0, 0, 0, 0, 0, 0, 0, 1, 2)))]
        for line in (*bad, *future):
            lines.insert(self.rng.randint(0, len(lines)), line)
        rejected = self._post(producer, lines)
        assert rejected == len(bad), f"{rejected} lines were refused of {len(bad)} that are not edges"
        self.bad += len(bad)
        self.future += len(future)

    def _of_the_future(self) -> bytes:
        ahead = int(time.time() * 1000) + self.rng.choice((10 * 60_000, 10**9, 10**15))
        ts = self.rng.choice((ahead, 2**63 - 1))
        ends = {"label": "k0", "src": "v0", "dst": "v1"}
        return json.dumps({"id": f"f{self.rng.random()}", "ts": ts, **ends}).encode()

    def _post(self, producer: int, lines: list[bytes]) -> int:
        """Send lines until they are taken; return how many of them were refused."""
        sent = {"content-type": "application/x-ndjson", "graphtide-producer": f"producer-{producer}"}
        self._requests += 1
        if self._requests % _TRACED == 0:
            sent["traceparent"] = f"00-{self.rng.getrandbits(128) | 1:032x}-{self.rng.getrandbits(64) | 1:016x}-01"
        begun, answer = time.monotonic(), None
        for service in cycle(self.services):
            try:
                answer = service.post(f"/api/v1/streams/{STREAM}/edges", content=b"\n".join(lines) + b"\n", headers=sent)
            except httpx2.TransportError:
                answer = None
            if answer is not None and (answer.status_code == 202 or answer.json()["code"] == "all-rejected"):
                return int(answer.json()["rejected"])
            said = answer.text if answer is not None else "no answer"
            assert answer is None or answer.status_code in {429, 503}, said
            assert time.monotonic() - begun < _PATIENCE, f"edges are not taken: {said}"
            time.sleep(0.2)
        message = "there is no service"
        raise ValueError(message)


def list_reported(records: Iterable[Record]) -> Iterable[tuple[str, Reported]]:
    """Yield the matches of the patterns, each with the number of the edge that completed it; the rest is left out.

    Raises:
        AssertionError: one is of edges that do not follow each other.
    """
    for record in records:
        try:
            event = matches.decode(record)
        except PoisonRecordError:
            continue
        # An end of validity is not a match of its own.
        if event.pattern in PATTERNS and event.kind is MatchKind.MATCH:
            before, last = _ends(event.body)
            assert last - before == KINDS, f"{event.body!r} is not a match of {event.pattern}"
            yield event.pattern, (event.version, last)


def _ends(body: bytes) -> tuple[int, int]:
    """Return the numbers of the two edges of a match; those of a result follow from its ends.

    Raises:
        AssertionError: it is not a match of two edges.
    """
    ends = msgspec.json.decode(body, type=_Result)
    if ends.src and ends.dst:
        return int(ends.src[1:]), int(ends.dst[1:]) - KINDS
    # One of a name; in a component a list of one.
    of = {name: (ids,) if isinstance(ids, str) else ids for name, ids in matches.participants(body).items()}
    assert {name: len(ids) for name, ids in of.items()} == {"x": 1, "y": 1}, f"{body!r} is not a match of two edges"
    return int(of["x"][0].removeprefix("e")), int(of["y"][0].removeprefix("e"))


class _Result(msgspec.Struct):
    """The ends of a result."""

    src: str = ""
    dst: str = ""
