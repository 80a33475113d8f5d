"""A target gets each match at least once, in order, and what became of all is counted exactly, through crashes at any call."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_alerts.application.delivery import Delivery, Pace
from graphtide_alerts.application.known import Known
from graphtide_alerts.application.ports import UndeliverableError, UndeliveredError
from graphtide_core.errors import FencedError, TransientError
from graphtide_core.ports.log import Message
from graphtide_log.memory import MemoryLog
from graphtide_serving.loop import Backoff
from graphtide_telemetry.setup import exposition
from graphtide_testing import registrations
from graphtide_testing.clock import ManualClock
from graphtide_testing.mortal import Fuse, KilledError, Mortal
from graphtide_testing.seeds import seeds
from graphtide_testing.telemetry import count_metrics, metrics_of
from graphtide_wire import matches, mutes
from graphtide_wire.control import AnnotationsForm
from graphtide_wire.targets import (
    AlertAnswer,
    AlertCounts,
    AlertRequest,
    DeadAlert,
    TargetRecord,
    decode_answer,
    decode_counts,
    decode_dead_alert,
    encode_request,
    encode_target,
)
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphtide_alerts.domain.alert import Alert
    from graphtide_core.ports.log import Log

TOPICS = Topics("t")
AT = datetime(2026, 1, 1, tzinfo=UTC)


def target(**given: Any) -> TargetRecord:
    usual: dict[str, Any] = {"name": "ops", "kind": "webhook", "address": "https://example.com/", "created_at": AT}
    return TargetRecord(**usual | given)


@dataclass
class Receiver:
    """A way to a target that answers as a test says, and remembers."""

    answer: Callable[[Alert], BaseException | None] = lambda _alert: None
    attempts: list[Alert] = field(default_factory=list)
    taken: list[Alert] = field(default_factory=list)

    def send(self, alert: Alert) -> None:
        self.attempts.append(alert)
        error = self.answer(alert)
        if error is not None:
            raise error
        self.taken.append(alert)

    def close(self) -> None:
        pass

    @property
    def ids(self) -> list[str]:
        return [alert.id for alert in self.taken]


@dataclass
class World:
    """A deployment with one target."""

    target: TargetRecord = field(default_factory=target)
    log: MemoryLog = field(default_factory=MemoryLog)
    clock: ManualClock = field(default_factory=ManualClock)
    receiver: Receiver = field(default_factory=Receiver)

    def __post_init__(self) -> None:
        self.log.admin().ensure(TOPICS.of_deployment(partitions=2))
        self.writer = self.log.writer()
        self.known = Known(TOPICS)
        self.known.whole()
        self.reported = 0
        self.passed: dict[str, int] = {}

    def register(self, name: str, **said: Any) -> None:
        text = f"PATTERN {name} MATCH (a)-[x]->(b) ON s WINDOW 1"
        record = registrations.registration(text, AT, annotations=AnnotationsForm(**said))
        self.know(registrations.registering(TOPICS, record))

    def mute(self, **given: Any) -> None:
        usual: dict[str, Any] = {"id": "m", "created_at": AT, "created_by": "ann"}
        record = mutes.MuteRecord(**usual | given)
        self.know(mutes.encode_mute(TOPICS.mutes, record))

    def know(self, message: Message) -> None:
        self.writer.write([message])
        reader = self.log.reader(None)
        (place,) = reader.partitions(message.topic)
        reader.assign({place: 0})
        for record in reader.poll(0.0, 1_000):
            if record.offset >= self.passed.get(message.topic, 0):
                self.known.take(record)
                self.passed[message.topic] = record.offset + 1

    def answers(self) -> list[AlertAnswer]:
        return [decode_answer(record) for record in self._records(TOPICS.alert_answers)]

    def report(
        self, count: int = 1, pattern: str = "p", kind: str = "match", *, vertex: str = "v", backfilled: bool = False
    ) -> None:
        messages = []
        for number in range(self.reported, self.reported + count):
            vertices = f'"vertices":{{"a":"{vertex}"}}'
            line = f'{{"match_id":"{number:032x}","query":"{pattern}","kind":"{kind}","detected_at":1,{vertices}}}'
            message = matches.encode(TOPICS.matches, line.encode(), 1, None)
            message = message._replace(partition=number % 2)
            messages.append(matches.as_backfilled(message) if backfilled else message)
        self.reported += count
        self.writer.write(messages)

    def delivery(self, log: Log | None = None, **pace: Any) -> Delivery:
        given: dict[str, Any] = {"most_attempts": 3, "backoff": Backoff(1.0, 4.0), "commit_seconds": 0.0, "linger_seconds": 0.0}
        return Delivery(
            log or self.log,
            TOPICS,
            self.clock,
            target=self.target,
            known=self.known,
            make=lambda _target: self.receiver,
            pace=Pace(**given | pace),
        )

    def run(self, steps: int = 200, pause: float = 0.05, **pace: Any) -> AlertCounts:
        """Let a delivery work for a while."""
        delivery = self.delivery(**pace)
        delivery.open()
        for _ in range(steps):
            delivery.step()
            self.clock.sleep(pause)
        delivery.close()
        return self.counts()

    def counts(self) -> AlertCounts:
        found = [decode_counts(record) for record in self._records(TOPICS.alert_counts)]
        for each in found:
            assert each.accepted == each.delivered + each.dead + each.muted + each.summed
        return found[-1] if found else AlertCounts(target="ops", created_at=AT)

    def dead(self) -> list[DeadAlert]:
        return [decode_dead_alert(record) for record in self._records(TOPICS.dead_alerts)]

    def _records(self, topic: str) -> list[Any]:
        reader = self.log.reader(None)
        reader.assign(dict.fromkeys(reader.partitions(topic), 0))
        return reader.poll(0.0, 100_000)


def ids(numbers: Any) -> list[str]:
    return sorted(f"{number:032x}" for number in numbers)


def test_matches_are_delivered_and_counted_once() -> None:
    world = World()
    world.register("p", severity="high", message="{a.id} again", tags=("x",), description="d")
    world.report(5)
    counts = world.run()
    assert sorted(world.receiver.ids) == ids(range(5))
    assert (counts.accepted, counts.delivered) == (5, 5)
    content = world.receiver.taken[0].content
    assert (content["message"], content["severity"], content["tags"]) == ("v again", "high", ["x"])
    assert content["match"]["query"] == content["pattern"] == "p"
    world.report(2)
    assert world.run().delivered == 7
    assert sorted(world.receiver.ids) == ids(range(7))


def test_a_target_takes_the_patterns_and_severities_that_it_names() -> None:
    world = World(target(patterns="leak*", severity="medium"))
    world.register("leak_a", severity="medium")
    world.register("leak_b", severity="low")
    world.register("leak_c")
    world.register("other", severity="critical")
    for pattern in ("leak_a", "leak_b", "leak_c", "other"):
        world.report(1, pattern)
    assert world.run().accepted == 1
    assert [alert.pattern for alert in world.receiver.taken] == ["leak_a"]


def test_brackets_of_a_glob_are_themselves() -> None:
    world = World(target(patterns="[ab]"))
    for pattern in ("a", "[ab]"):
        world.report(1, pattern)
    world.run()
    assert [alert.pattern for alert in world.receiver.taken] == ["[ab]"]


def test_retractions_are_counted_or_delivered_as_the_target_asks() -> None:
    world = World()
    world.report(1)
    world.report(1, kind="retract")
    counts = world.run()
    assert (counts.accepted, counts.delivered, counts.retractions) == (1, 1, 1)
    other = World(target(retractions=True))
    other.report(1, kind="retract")
    assert other.run().delivered == 1
    assert other.receiver.taken[0].type == "retract"
    assert other.receiver.ids == [f"{0:032x}-retract"]


def test_what_was_found_in_history_alerts_nobody() -> None:
    world = World()
    world.report(3, backfilled=True)
    assert world.run().accepted == 0
    assert not world.receiver.attempts


def test_a_muted_match_is_counted_and_not_delivered() -> None:
    world = World()
    world.mute(pattern="p", key=mutes.MuteKey("quiet"))
    world.report(2, vertex="quiet")
    world.report(1, vertex="loud")
    world.report(1, "q", vertex="quiet")
    counts = world.run()
    assert (counts.accepted, counts.delivered, counts.muted) == (4, 2, 2)
    assert sorted(world.receiver.ids) == ids([2, 3])


def test_a_failed_attempt_is_repeated_and_then_dead() -> None:
    world = World()
    world.receiver.answer = lambda alert: UndeliveredError("it answered 500") if alert.id == f"{0:032x}" else None
    world.report(3)
    counts = world.run(steps=1_000)
    assert (counts.accepted, counts.delivered, counts.dead, counts.retried) == (3, 2, 1, 2)
    (dead,) = world.dead()
    assert (dead.target, dead.id, dead.attempts, dead.reason, dead.pattern) == ("ops", f"{0:032x}", 3, "it answered 500", "p")
    assert dead.match is not None
    assert f"{0:032x}" in dead.match


def test_what_never_succeeds_is_dead_at_once() -> None:
    world = World()
    world.receiver.answer = lambda _alert: UndeliverableError("it answered 400")
    world.report(2)
    counts = world.run()
    assert (counts.accepted, counts.dead, counts.retried) == (2, 2, 0)
    assert [dead.attempts for dead in world.dead()] == [1, 1]


def test_what_became_of_matches_is_in_the_metrics() -> None:
    count_metrics()
    world = World(target(name="measured"))
    world.receiver.answer = lambda alert: UndeliveredError("later") if alert.id == f"{0:032x}" else None
    world.mute(key=mutes.MuteKey("quiet"))
    world.report(3)
    world.report(1, vertex="quiet")
    delivery = world.delivery()
    delivery.open()
    for _ in range(4):
        delivery.step()
    name = 'graphtide_alerts_{}{{graphtide_target="measured"}}'
    assert metrics_of(exposition().decode())[name.format("waiting")] > 0
    for _ in range(200):
        delivery.step()
        world.clock.sleep(1.0)
    found = metrics_of(exposition().decode())
    delivery.close()
    settled = 'graphtide_alerts_settled_total{{graphtide_outcome="{}",graphtide_target="measured"}}'
    outcomes = {outcome: found.get(settled.format(outcome)) for outcome in ("delivered", "dead", "muted", "summed")}
    assert outcomes == {"delivered": 2, "dead": 1, "muted": 1, "summed": None}
    assert found[name.format("failed_attempts_total")] == 3
    assert found[name.format("waiting")] == 0
    assert name.format("waiting") not in metrics_of(exposition().decode())


def ask(world: World, delivery: Delivery, **given: Any) -> AlertAnswer:
    """Let a delivery make an attempt that a user asks for, and return its answer."""
    usual: dict[str, Any] = {"id": "r", "target": "ops", "at": world.clock.now()}
    request = AlertRequest(**usual | given)
    before = len(world.answers())
    world.know(encode_request(TOPICS.alert_requests, request))
    delivery.step()
    (answer,) = world.answers()[before:]
    assert (answer.id, answer.target) == ("r", "ops")
    return answer


def test_a_sample_is_sent_while_a_match_waits_and_counts_nowhere() -> None:
    world = World(target(template="{message} of {a.id}"))
    world.receiver.answer = lambda alert: UndeliveredError("it answered 503") if alert.type == "match" else None
    world.report(1)
    delivery = world.delivery(most_attempts=1_000)
    delivery.open()
    delivery.step()
    answer = ask(world, delivery)
    assert (answer.alert, answer.outcome, answer.reason) == ("test-r", "delivered", None)
    (sample,) = world.receiver.taken
    assert (sample.type, sample.content["message"]) == ("test", "this is a test of 192.0.2.1")
    world.receiver.answer = lambda _alert: UndeliverableError("it answered 404")
    answer = ask(world, delivery)
    assert (answer.outcome, answer.reason) == ("refused", "it answered 404")
    world.receiver.answer = lambda _alert: UndeliveredError("it answered 503")
    assert ask(world, delivery).outcome == "failed"
    delivery.close()
    assert world.counts().accepted == 0
    assert not world.dead()


def test_a_dead_alert_is_sent_again_under_its_id() -> None:
    world = World(target(rate=1))
    world.register("p", severity="high")
    refused = {f"{0:032x}"}
    world.receiver.answer = lambda alert: UndeliverableError("no") if alert.id in refused or alert.type == "sum" else None
    world.report(3)
    world.run(steps=20)
    world.clock.sleep(60.0)
    world.run(steps=20)
    world.receiver.answer = lambda _alert: None
    delivery = world.delivery()
    delivery.open()
    dead = world.dead()
    assert [letter.unsaid for letter in dead] == [0, 1]
    for letter in dead:
        failed = next(alert for alert in world.receiver.attempts if alert.id == letter.id)
        assert ask(world, delivery, dead=letter).outcome == "delivered"
        assert world.receiver.taken[-1] == failed
    delivery.close()
    assert (world.counts().dead, world.counts().delivered, world.counts().summed) == (1, 1, 1)


def test_a_request_that_is_old_or_of_another_target_is_passed_over() -> None:
    world = World()
    delivery = world.delivery()
    delivery.open()
    old = AlertRequest(id="old", target="ops", at=world.clock.now() - timedelta(seconds=60))
    other = AlertRequest(id="other", target="others", at=world.clock.now())
    for request in (old, other):
        world.know(encode_request(TOPICS.alert_requests, request))
        delivery.step()
    delivery.close()
    assert not world.answers()
    assert not world.receiver.attempts


def test_requests_of_before_the_service_began_are_passed_over() -> None:
    known, log = Known(TOPICS), MemoryLog()
    log.admin().ensure(TOPICS.of_deployment())
    writer, reader = log.writer(), log.reader(None)
    reader.assign(dict.fromkeys(reader.partitions(TOPICS.alert_requests), 0))
    for _ in range(2):
        writer.write([encode_request(TOPICS.alert_requests, AlertRequest(id="r", target="ops", at=AT))])
        for record in reader.poll(0.0, 10):
            known.take(record)
        assert known.next_request("others") is None
        is_taken = known.next_request("ops") is not None
        known.whole()
    assert is_taken
    assert known.next_request("ops") is None


def test_what_is_read_anew_is_neither_sent_twice_nor_kept_after_its_end() -> None:
    known, log = Known(TOPICS), MemoryLog()
    log.admin().ensure(TOPICS.of_deployment())
    request = encode_request(TOPICS.alert_requests, AlertRequest(id="r", target="ops", at=AT))
    log.writer().write([encode_target(TOPICS.targets, target()), request])

    def read(*topics: str) -> None:
        for topic in topics:
            reader = log.reader(None)
            reader.assign(dict.fromkeys(reader.partitions(topic), 0))
            for record in reader.poll(0.0, 10):
                known.take(record)

    read(TOPICS.targets, TOPICS.alert_requests)
    known.whole()
    assert len(known.targets()) == 1
    # The log does not answer for a while, and compaction takes the target and its end meanwhile.
    known.begin()
    with pytest.raises(TransientError):
        known.targets()
    read(TOPICS.alert_requests)
    known.whole()
    assert known.targets() == []
    assert known.next_request("ops") is None


def test_matches_wait_for_the_one_before_them() -> None:
    world = World()
    failures = iter([UndeliveredError("later"), UndeliveredError("later")])
    world.receiver.answer = lambda _alert: next(failures, None)
    world.report(4)
    world.run(steps=1_000)
    attempted = [alert.id for alert in world.receiver.attempts]
    assert attempted == [attempted[0]] * 3 + world.receiver.ids[1:]


def test_matches_over_the_rate_are_summed_up_in_one_message() -> None:
    world = World(target(rate=3))
    world.report(10)
    counts = world.run(steps=100)
    assert (counts.accepted, counts.delivered, counts.summed, counts.unsaid) == (10, 3, 7, 7)
    world.clock.sleep(60.0)
    counts = world.run(steps=10)
    assert (counts.delivered, counts.summed, counts.unsaid) == (3, 7, 0)
    assert [alert.content["message"] for alert in world.receiver.taken if alert.type == "sum"] == ["and 7 more"]
    world.report(1)
    assert world.run(steps=10).delivered == 4


def test_a_sum_that_no_attempt_delivers_is_a_dead_letter() -> None:
    world = World(target(rate=1))
    world.receiver.answer = lambda alert: UndeliverableError("no sums") if alert.type == "sum" else None
    world.report(3)
    world.run(steps=50)
    world.clock.sleep(60.0)
    counts = world.run(steps=10)
    assert (counts.accepted, counts.summed, counts.dead, counts.unsaid) == (3, 2, 0, 0)
    assert [(dead.pattern, dead.unsaid) for dead in world.dead()] == [(None, 2)]


def test_a_target_starts_where_its_record_says_and_counts_anew_when_it_is_made_anew() -> None:
    world = World()
    world.report(4)
    world.target = target(starts=(1, 2))
    assert world.run().accepted == 1
    world.target = target(created_at=datetime(2026, 2, 1, tzinfo=UTC), starts=(2, 2))
    world.report(2)
    assert world.run().accepted == 2


def test_what_is_no_match_is_passed_over() -> None:
    world = World()
    world.writer.write([Message(TOPICS.matches, b"p", b"no match", partition=0)])
    world.report(2)
    assert world.run().accepted == 2


def test_another_process_shuts_a_delivery_out() -> None:
    world = World()
    first, second = world.delivery(), world.delivery()
    first.open()
    second.open()
    world.report(1)
    with pytest.raises(FencedError):
        first.step()


@pytest.mark.parametrize("seed", list(seeds(12)))
def test_a_crash_at_any_call_loses_no_match_and_counts_none_twice(seed: int) -> None:
    chance = random.Random(seed)
    world = World(target(rate=chance.choice([None, 4])))
    world.mute(key=mutes.MuteKey("quiet"))
    never = {f"{number:032x}" for number in range(40) if chance.random() < 0.1}

    def answer(alert: Alert) -> BaseException | None:
        if alert.id in never:
            return UndeliverableError("never")
        return UndeliveredError("later") if chance.random() < 0.2 else None

    world.receiver.answer = answer
    fuse = Fuse()
    mortal = Mortal(world.log, fuse)
    for _ in range(8):
        world.report(chance.randrange(5), vertex=chance.choice(["quiet", "loud"]))
        fuse.length = chance.randrange(1, 120)
        try:
            delivery = world.delivery(mortal, most_attempts=1_000, commit_seconds=chance.choice([0.0, 5.0]))
            delivery.open()
            for _ in range(chance.randrange(60)):
                delivery.step()
                world.clock.sleep(0.5)
        except KilledError:
            pass
        world.counts()
    fuse.length = 0
    counts = world.run(steps=600, pause=1.0, most_attempts=1_000)
    assert counts.accepted == world.reported
    assert counts.unsaid == 0
    taken = {alert.id for alert in world.receiver.taken if alert.type == "match"}
    dead = [each.id for each in world.dead()]
    assert sorted(set(dead)) == sorted(dead)
    assert len(dead) == counts.dead
    assert not taken & set(dead)
    assert len(taken) >= counts.delivered
    if world.target.rate is None:
        # Each match was taken, is dead, or was muted; a match is taken twice only after a crash.
        assert len(taken) == counts.delivered
        assert counts.summed == 0
    sums = {alert.id: alert.unsaid for alert in world.receiver.taken if alert.type == "sum"}
    assert sum(sums.values()) == counts.summed
