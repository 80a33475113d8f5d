"""The planner: follows what is registered, counted and said, and publishes plans.

Only one planner of a deployment works: a planner that opens shuts the one before out. So what is published is what was read at
the opening and what this one wrote since. Each round publishes what a few patterns need in one transaction. So a planner that
is killed at any moment left whole decisions. The next one makes the same ones, as they follow from the topics alone. When a
pattern is looked at again depends on what was seen before; a planner that comes back looks at all of them. Other records in the
topic of plans come from writers that may not write it, and are put right.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import structlog
from graphtide_core.errors import GraphtideError
from graphtide_log.follower import Follower
from graphtide_serving.opened import close_all, open_worker
from graphtide_telemetry import attributes as key
from graphtide_telemetry import events, metrics
from graphtide_telemetry.instruments import add

from graphtide_planner.application.records import note_change, settle, take, take_own
from graphtide_planner.application.replica_exchange import Answer
from graphtide_planner.domain.decisions import Publish, decide, move_pattern, refusal, restore
from graphtide_planner.domain.known import Known
from graphtide_planner.domain.passes import HostId
from graphtide_planner.domain.spreading import count_held, uneven

if TYPE_CHECKING:
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogTransactor, Message
    from graphtide_wire.topics import Topics

    from graphtide_planner.application.replica_exchange import ReplicaExchange
    from graphtide_planner.domain.decisions import Decision
    from graphtide_planner.domain.planning import PlanningPolicy

_LOG = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Rounds:
    """How the planner works.

    Attributes:
        linger_seconds: how long a round waits where nothing is to be done.
        most_patterns: patterns that a round decides on at most; some milliseconds each.
    """

    linger_seconds: float = 0.1
    most_patterns: int = 50


@dataclass(slots=True)
class _Opened:
    """What an open planner holds: `own` follows the topic of plans, `followers` those of others."""

    transactor: LogTransactor
    own: Follower | None = None
    followers: tuple[Follower, ...] = ()


class Planner:
    """A `Worker` that publishes plans."""

    def __init__(
        self,
        log: Log,
        topics: Topics,
        clock: Clock,
        policy: PlanningPolicy,
        rounds: Rounds | None = None,
        *,
        replica_exchange: ReplicaExchange | None = None,
    ) -> None:
        """Prepare; nothing is opened yet. Where there is a board, it says which shards there are."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._policy = policy
        self._rounds = rounds or Rounds()
        self._replica_exchange = replica_exchange
        self._opened: _Opened | None = None
        self._known = Known(drift=policy.drift)
        self._due: set[str] = set()
        self._unseen: dict[str, deque[bytes | None]] = {}
        """Values of plans that were published and have not come by in the topic yet, by name."""

    @property
    def name(self) -> str:
        """Its transactional id, which only one process at once may have."""
        return f"{self._topics.prefix}.planner"

    def open(self) -> None:
        """Shut other planners out, and read all that is there.

        Raises:
            TransientError: the log does not answer.
        """
        topics = self._topics
        self._log.admin().ensure(topics.of_deployment())
        transactor = self._log.transactor(self.name)
        self._opened = opened = _Opened(transactor)
        transactor.open()
        self._known = known = Known(drift=self._policy.drift)
        self._unseen = {}
        opened.own = Follower(self._log, topics.plans)
        said = Follower(self._log, topics.status)
        # The planner is the only writer of plans; hosts report their status, too.
        for record in chain(opened.own.to_the_end(), said.committed()):
            take_own(record, topics, known)
        said.close()
        for topic in (topics.patterns, topics.statistics, topics.status):
            follower = Follower(self._log, topic)
            opened.followers += (follower,)
            for record in follower.committed() if topic == topics.status else follower.to_the_end():
                take(record, topics, known)
        self._due = {*known.patterns, *known.unreadable, *known.plans, *known.damaged, *known.refusals}
        if self._replica_exchange is not None:
            self._replica_exchange.opened()

    def step(self) -> None:
        """Take what is new and publish what a few patterns need.

        Raises:
            TransientError: the log does not answer; open again to continue.
            FencedError: another planner took over.
        """
        held = open_worker(self._opened, "the planner")
        for follower in held.followers:
            for record in follower.poll():
                self._due |= take(record, self._topics, self._known)
        decisions = self._put_right() + self._spread()
        if not self._due and not decisions:
            self._clock.sleep(self._rounds.linger_seconds)
            return
        messages = [message for decision in decisions for message in self._settled(decision)]
        # Sorted, so that the least loaded shard is the same for every caller.
        for name in sorted(self._due)[: self._rounds.most_patterns]:
            self._due.discard(name)
            messages += [message for decision in self._decided(name) for message in self._settled(decision)]
        self._due |= self._known.passes.regrown() | self._known.shared_units.changed_groups()
        if messages:
            held.transactor.begin()
            held.transactor.write(messages)
            held.transactor.commit(self.name, {})

    def _spread(self) -> list[Decision]:
        """Follow the number of shards; on request, report what holds them, and even out their loads."""
        replica_exchange, known = self._replica_exchange, self._known
        if replica_exchange is None:
            return []
        shard_counts = replica_exchange.shard_counts()
        policy = self._policy.within(shard_counts)
        if policy.leaving != self._policy.leaving:
            self._due |= {name for name, plan in known.plans.items() if policy.leaves(HostId(plan.service, plan.shard))}
        self._policy = policy
        if not replica_exchange.is_asked():
            return []
        replica_exchange.answer(Answer(count_held(known), shard_counts))
        most = self._rounds.most_patterns
        names = [
            name
            for service, shard_count in sorted(shard_counts.items())
            for name in uneven(known, service, shard_count.given, most)
        ]
        return [decision for name in names for decision in move_pattern(name, known)]

    def _decided(self, name: str) -> list[Decision]:
        """Decide on one pattern; an error is reported for this pattern and keeps no other waiting."""
        try:
            return decide(name, self._known, self._policy)
        except GraphtideError:
            raise
        except Exception as error:
            _LOG.exception(events.PLAN_FAILED, pattern=name)
            record = self._known.patterns.get(name)
            return refusal(name, record.version if record is not None else 0, f"it cannot be planned: {error!r}", self._known)

    def _put_right(self) -> list[Decision]:
        """Return what to publish if the topic of plans differs from what was published."""
        if self._opened is None or self._opened.own is None:
            return []
        strange: set[str] = set()
        for record in self._opened.own.poll():
            name = (record.key or b"").decode(errors="replace")
            unseen = self._unseen.get(name)
            if unseen is not None and unseen[0] == record.value:
                unseen.popleft()
                if not unseen:
                    del self._unseen[name]
            else:
                _LOG.warning(events.PLAN_STRANGE, pattern=name, topic=record.topic, offset=record.offset)
                strange.add(name)
        return [restore(name, self._known) for name in sorted(strange)]

    def close(self) -> None:
        """Give back everything."""
        if self._replica_exchange is not None:
            self._replica_exchange.closed()
        if self._opened is not None:
            close_all([*self._opened.followers, self._opened.own, self._opened.transactor])
            self._opened = None

    def _settled(self, decision: Decision) -> list[Message]:
        """Take a decision; return what publishes it, and what keeps the change of the plan."""
        add(metrics.DECISIONS, 1, {key.OUTCOME: type(decision).__name__.lower()})
        if isinstance(decision, Publish):
            plan = decision.plan
            _LOG.info(
                events.PLAN_PUBLISHED,
                pattern=plan.name,
                version=plan.version,
                epoch=plan.epoch,
                engine=plan.engine,
                service=plan.service,
                shard=plan.shard,
                desired=plan.desired,
            )
        else:
            _LOG.info(events.PLAN_DECIDED, pattern=decision.name, decision=type(decision).__name__)
        now = self._clock.now()
        changes = note_change(decision, self._topics, self._known, now)
        message = settle(decision, self._topics, self._known, now)
        if message.topic == self._topics.plans:
            self._unseen.setdefault((message.key or b"").decode(), deque()).append(message.value)
        return [message, *changes]
