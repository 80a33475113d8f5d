"""The planner: follows what is registered, counted and said, and publishes plans.

Only one planner of a deployment works: who opens shuts the one before out. So what is published is what was read at the
opening and what this one wrote since; it reads its own topic no more. Each round publishes what a few patterns need in one
transaction, so a planner that is killed at any moment left whole decisions, and the next one comes to the same ones: they
follow from the topics alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
from graphtide_core.errors import TransientError
from graphtide_runtime.follower import Follower
from graphtide_runtime.telemetry import attributes as key
from graphtide_runtime.telemetry import events, metrics
from graphtide_runtime.telemetry.instruments import add

from graphtide_planner.application.records import settle, take, take_own
from graphtide_planner.domain.decisions import Publish, decide
from graphtide_planner.domain.known import Known

if TYPE_CHECKING:
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, LogTransactor, Message
    from graphtide_wire.topics import Topics

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
    transactor: LogTransactor
    followers: tuple[Follower, ...]


class Planner:
    """A `Worker` that publishes plans."""

    def __init__(self, log: Log, topics: Topics, clock: Clock, policy: PlanningPolicy, rounds: Rounds | None = None) -> None:
        """Prepare; nothing is opened yet."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._policy = policy
        self._rounds = rounds or Rounds()
        self._opened: _Opened | None = None
        self._known = Known()
        self._due: set[str] = set()

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
        self._opened = _Opened(transactor, ())
        transactor.open()
        self._known = Known()
        for topic in (topics.plans, topics.status):
            own = Follower(self._log, topic)
            for record in own.to_the_end():
                take_own(record, topics, self._known)
            own.close()
        followers = tuple(Follower(self._log, topic) for topic in (topics.patterns, topics.statistics, topics.status))
        self._opened = _Opened(transactor, followers)
        for follower in followers:
            for record in follower.to_the_end():
                take(record, topics, self._known)
        known = self._known
        self._due = {*known.patterns, *known.unreadable, *known.plans, *known.refusals}

    def step(self) -> None:
        """Take what is new and publish what a few patterns need.

        Raises:
            TransientError: the log does not answer; open again to go on.
            FencedError: another planner took over.
        """
        if self._opened is None:
            message = "the planner is not open"
            raise TransientError(message)
        for follower in self._opened.followers:
            for record in follower.poll():
                self._due |= take(record, self._topics, self._known)
        if not self._due:
            self._clock.sleep(self._rounds.linger_seconds)
            return
        messages: list[Message] = []
        # Sorted, so that the least loaded shard is the same one whoever asks.
        for name in sorted(self._due)[: self._rounds.most_patterns]:
            self._due.discard(name)
            messages += [self._settled(decision) for decision in decide(name, self._known, self._policy)]
        if messages:
            self._opened.transactor.begin()
            self._opened.transactor.write(messages)
            self._opened.transactor.commit(self.name, {})

    def close(self) -> None:
        """Give back everything."""
        if self._opened is not None:
            for follower in self._opened.followers:
                follower.close()
            self._opened.transactor.close()
            self._opened = None

    def _settled(self, decision: Decision) -> Message:
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
        return settle(decision, self._topics, self._known, self._clock.now())
