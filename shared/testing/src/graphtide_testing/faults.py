"""A random mix of faults for a deployment that runs: what a seed decides, one fault after the other.

Records and checkpoints are poisoned, clients are slow, processes, Kafka and Redis are killed, users register adversaries and
start dry runs that would never end. Damaged records in the topics of control that can still be read belong to bystanders:
patterns that are not accounted for. Under all other keys, damaged records cannot be read.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, Final

import httpx2
import redis
from graphtide_core.errors import GraphtideError
from graphtide_core.ids import StreamName
from graphtide_log.kafka import KafkaConnection, KafkaLog
from graphtide_query.families import AUTO, FAMILIES

from graphtide_testing.adversary import star
from graphtide_testing.fleet import KAFKA, REDIS, TWIN
from graphtide_testing.poison import KEYS, damage, strange_record, unreadable_record
from graphtide_testing.raw_producer import send_raw
from graphtide_testing.steady_load import STREAM
from graphtide_testing.tail import Tail

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from threading import Event

    from graphtide_core.ports.log import Record
    from graphtide_wire.topics import Topics

    from graphtide_testing.fleet import Fleet
    from graphtide_testing.slow_clients import SlowClients

ENGINES: Final = (AUTO, *FAMILIES["isomorphism"].names)
POLICIES: Final = ("fail", "pause", "shed")
BYSTANDERS: Final = tuple(f"bystander{number}" for number in range(3))
LIMITED_SECONDS: Final = 180.0
"""An adversary is limited, and its status says so, within this time, also while processes are killed."""

_BETWEEN_SECONDS: Final = 3.0
_KEPT: Final = 200


@dataclass
class Faults:
    """Faults, step by step.

    Attributes:
        fleet: the processes.
        spared: names of processes that are not killed any more after some seconds.
        spared_after: those seconds.
        seed: decides what every step does.
        user: a client of the admin API, who may do everything.
        stranger: another, who may read.
        slow: clients that are slow.
        done: how many faults of each kind there were.
        limited: adversaries that were limited and said so, by policy.
        wrong: what must not be.
    """

    fleet: Fleet
    spared: Collection[str]
    spared_after: float
    seed: int
    user: httpx2.Client
    stranger: httpx2.Client
    slow: SlowClients
    done: Counter[str] = field(default_factory=Counter)
    limited: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    _adversary: tuple[str, str, float] | None = None
    _simulations: list[Future[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Look at topics."""
        deployment = self.fleet.deployment
        self._log = KafkaLog(KafkaConnection(deployment.kafka.bootstrap))
        self._topics = _topics(deployment.topics)
        self._tails = {topic: Tail(self._log, topic) for topic in self._topics}
        self._genuine: dict[str, deque[Record]] = {topic: deque(maxlen=_KEPT) for topic in self._topics}
        self._bystanding: dict[str, deque[Record]] = {topic: deque(maxlen=_KEPT) for topic in self._topics}
        self._beside = ThreadPoolExecutor(2)

    def run(self, is_over: Event) -> None:
        """Do one fault after the other until it is over; then all that was killed runs again."""
        begun, step = time.monotonic(), 0
        kinds: tuple[Callable[[Random, float], None], ...] = (
            *(self._kill,) * 3,
            *(self._poison_topic,) * 5,
            *(self._poison_redis,) * 2,
            *(self._send_odd_headers,) * 2,
            *(self._be_slow,) * 4,
            *(self._register,) * 3,
            self._dry_run,
        )
        left: list[Callable[[Random, float], None]] = []
        while not is_over.is_set():
            chance = Random(f"{self.seed}-{step}")  # noqa: S311 - a story, no secret
            # Every kind once, then again in another order: a short run has faults of all kinds, too.
            left = left or chance.sample(kinds, len(kinds))
            left.pop()(chance, time.monotonic() - begun)
            self.wrong += [f"{name} ended by itself" for name in self.fleet.start_ended()]
            is_over.wait(chance.expovariate(1 / _BETWEEN_SECONDS))
            step += 1
        self._dismiss()
        self.slow.close()
        self._beside.shutdown()
        for simulation in self._simulations:
            simulation.result()

    def _kill(self, chance: Random, passed: float) -> None:
        """Kill a process, but no witness after its time has come; a twin may be of any process."""
        names = [name for name in self.fleet.programs if passed < self.spared_after or name not in self.spared]
        self.fleet.kill(chance.choice([*names, *names, KAFKA, REDIS, TWIN]))

    def _poison_topic(self, chance: Random, _: float) -> None:
        """Write a record that no process of the deployment would write."""
        topic = chance.choice(self._topics)
        for record in self._tails[topic].read():
            self._genuine[topic].append(record)
            if (record.key or b"").decode(errors="replace") in BYSTANDERS or topic == self.fleet.deployment.topics.statistics:
                self._bystanding[topic].append(record)
        if self._bystanding[topic] and chance.random() < 0.6:
            poison = strange_record(topic, list(self._bystanding[topic]), chance)
        else:
            poison = unreadable_record(topic, list(self._genuine[topic]), chance)
        if poison.key is None:
            poison = poison._replace(key=chance.choice(KEYS))
        with suppress(GraphtideError):
            reader = self._log.reader(None)
            places = reader.partitions(topic)
            reader.close()
            writer = self._log.writer()
            writer.write([poison._replace(partition=chance.choice(places).partition)])
            writer.close()
            self.done["records"] += 1

    def _send_odd_headers(self, chance: Random, _: float) -> None:
        """Write a record with a header name that is not UTF-8."""
        # Kafka may be away.
        with suppress(OSError):
            send_raw(
                self.fleet.deployment.kafka.bootstrap, chance.choice(self._topics), [(b"\xff\xfe", b"v")], b"odd", key=b"odd"
            )
            self.done["odd headers"] += 1

    def _poison_redis(self, chance: Random, _: float) -> None:
        """Damage a checkpoint, or put something of another type in its place."""
        with suppress(redis.RedisError), redis.Redis.from_url(self.fleet.deployment.redis.url, socket_timeout=5) as client:
            names: list[bytes] = sorted(client.scan_iter())
            name = chance.choice(names or [b"of-no-user"])
            kind = client.type(name) if chance.random() < 0.8 else b"none"
            if kind == b"string":
                client.set(name, damage(_bytes(client.get(name)), chance))
            elif kind == b"hash":
                segment = chance.choice(sorted(client.hkeys(name)) or [b"x"])
                client.hset(name, segment, damage(_bytes(client.hget(name, segment)), chance))
            else:
                client.delete(name)
                if chance.random() < 0.7:
                    client.rpush(name, b"x")
            self.done["checkpoints"] += 1

    def _be_slow(self, chance: Random, _: float) -> None:
        self.slow.rng = chance
        self.slow.step()

    def _register(self, chance: Random, _: float) -> None:
        """Register an adversary, or delete the one that said it was limited; replace a bystander."""
        name, engine, policy = chance.choice(BYSTANDERS), chance.choice(ENGINES), chance.choice(POLICIES)
        text = f"PATTERN {name} MATCH (a)-[x:k1]->(b)-[y:k2]->(c) ON {STREAM} WINDOW {chance.randint(1, 10)}s"
        bystander = {"text": text, "engine": engine}
        if self._ask("POST", "/api/v1/patterns", bystander) == 409:
            self._ask("PUT", f"/api/v1/patterns/{name}", bystander)
        if self._adversary is None:
            name = f"adversary{chance.randrange(3)}"
            asked = {"text": star(name, "10s"), "engine": engine, "limits": {"policy": policy}}
            if self._ask("POST", "/api/v1/patterns", asked) in {201, 409}:
                self._adversary = name, policy, time.monotonic()
                self.done["adversaries"] += 1
            return
        name, policy, since = self._adversary
        said = self._said(name)
        if said:
            self.limited[policy] += 1
            self._dismiss()
        elif time.monotonic() - since > LIMITED_SECONDS:
            self.wrong.append(f"{name} was not limited, {policy}")
            self._dismiss()

    def _said(self, name: str) -> str | None:
        """Return why a pattern does not run as it would."""
        with suppress(httpx2.TransportError):
            answer = self.user.get(f"/api/v1/patterns/{name}")
            if answer.status_code == 200 and "limit" in (answer.json()["reason"] or ""):
                return str(answer.json()["reason"])
        return None

    def _dismiss(self) -> None:
        if self._adversary is not None and self._ask("DELETE", f"/api/v1/patterns/{self._adversary[0]}") in {204, 404}:
            self._adversary = None

    def _dry_run(self, chance: Random, _: float) -> None:
        """Ask for a dry run that would never end, as a user who may only read."""
        edges = [{"ts": number, "label": "x", "src": "hub", "dst": f"w{number}"} for number in range(400)]
        asked = {"text": star("dry", "10m"), "edges": edges, "engine": chance.choice(ENGINES)}

        def ask() -> None:
            with suppress(httpx2.TransportError):
                answer = self.stranger.post("/api/v1/patterns:simulate", json=asked)
                if answer.status_code not in {200, 429, 503} or (answer.status_code == 200 and not answer.json()["truncated"]):
                    self.wrong.append(f"a simulation was answered with {answer.status_code} {answer.text[:200]}")
                self.done["simulations"] += answer.status_code == 200

        self._simulations = [each for each in self._simulations if not each.done()]
        if len(self._simulations) < 2:
            self._simulations.append(self._beside.submit(ask))

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> int:
        """Ask the API for something, once; return the status, 0 if there was no answer."""
        with suppress(httpx2.TransportError):
            answer = self.user.request(method, path, json=body, headers={} if method == "POST" else {"if-match": "*"})
            if answer.status_code == 500:
                self.wrong.append(f"{method} {path}: {answer.text}")
            return answer.status_code
        return 0


def _topics(topics: Topics) -> tuple[str, ...]:
    of_stream = [spec.name for spec in topics.of_stream(StreamName(STREAM))]
    return (*of_stream, *(spec.name for spec in topics.of_deployment()))


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b""
