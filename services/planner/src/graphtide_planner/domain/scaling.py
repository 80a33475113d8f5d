"""How many replicas a matcher service should have: a pure function of what its hosts cost, asked again and again.

What it keeps to:

* What is wanted is within the bounds, and one step at most from what there is, where that is within the bounds.
* At constant load the number becomes constant. Replicas are taken away only if the rest would carry all that was measured. The
  share that every host pays for reading the stream is counted again for each. A number that was once left because it did not
  suffice is not tried again before the load is clearly less than then. That holds however unevenly patterns spread.
* Nothing is decided while replicas are not ready, while loads are missing for fewer replicas, or soon after a change.
* Fewer replicas are wanted long before there are fewer: patterns leave the last shards first. Load that comes back meanwhile
  ends that.

Each replica reads the streams of its patterns whole, so replicas divide what patterns cost and not what a stream costs. A
pattern is on one of them, so more replicas than patterns are of no use.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil
from typing import Final

_ROOM: Final = 0.8
"""Share of the memory of replicas that the rest may need when there are fewer."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many replicas there may be."""

    least: int
    most: int

    def __post_init__(self) -> None:
        """Refuse bounds that nothing is within.

        Raises:
            ValueError: so it is.
        """
        if not 1 <= self.least <= self.most:
            message = f"from {self.least} to {self.most} replicas: say 1 <= least <= most"
            raise ValueError(message)


@dataclass(frozen=True, slots=True)
class Aims:
    """What is too much for a replica, and how long it has to last.

    Attributes:
        busy: a host that is busy for this share of its time has too much to do.
        busy_after: share of their time that the remaining hosts may be busy after a removal.
        lag_seconds: a host that reads records of this age is behind, unless it catches up.
        lag_records: so is one that has not read so many ordered records.
        memory_bytes: a replica with so much memory has too much.
        out_after_seconds: how long a host has too much before there are more.
        in_after_seconds: how long fewer would do before there are fewer.
        rest_seconds: how long nothing is decided after a change.
        load_seconds: a host's load is ignored from this age on.
        drain_seconds: how long patterns may take to leave before that is given up.
        step_out: replicas that are added at once at most.
        step_in: replicas that are taken away at once at most.
        relief: share of the load under which a number of replicas did not suffice, below which it may be tried again.
    """

    busy: float = 0.7
    busy_after: float = 0.5
    lag_seconds: float = 30.0
    lag_records: int = 1_000
    memory_bytes: int = 2 * 1024**3
    out_after_seconds: float = 60.0
    in_after_seconds: float = 600.0
    rest_seconds: float = 180.0
    load_seconds: float = 60.0
    drain_seconds: float = 900.0
    step_out: int = 2
    step_in: int = 1
    relief: float = 0.75


@dataclass(frozen=True, slots=True)
class HostLoad:
    """What one shard costs, as it was said `age_seconds` ago; `busy` is seconds of work a second.

    `patterns` are those that it runs.
    """

    shard: int
    age_seconds: float
    busy: float
    lag_seconds: float
    lag_records: int
    memory_bytes: int
    patterns: int


@dataclass(frozen=True, slots=True)
class Situation:
    """One matcher service at one moment; shards without patterns need not report loads."""

    service: str
    at: float
    replicas: int
    ready: int
    bounds: Bounds
    hosts: tuple[HostLoad, ...] = ()
    stranded: int = 0
    """Replicas that plans need which are not there: one more than the last shard that has to come back; 0 if all are."""

    @property
    def patterns(self) -> int:
        """Patterns that run on all shards."""
        return sum(host.patterns for host in self.hosts)


@dataclass(frozen=True, slots=True)
class Left:
    """A number of replicas that did not suffice, and the load then: what all hosts cost together."""

    replicas: int
    busy: float
    memory_bytes: int
    by_memory: bool


@dataclass(frozen=True, slots=True)
class History:
    """What is remembered from one decision to the next; times are of `Situation.at`."""

    hot_since: float | None = None
    cool_since: float | None = None
    changed_at: float | None = None
    draining: int | None = None
    drain_since: float | None = None
    lags: tuple[tuple[int, float, int], ...] = ()
    """Shard, lag in seconds and in records when it was decided last."""
    left: tuple[Left, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """How many replicas there should be, why, and what to remember.

    Where `wanted` is less than there are, patterns leave the shards from `wanted` on, and replicas are taken away after them.
    """

    wanted: int
    reason: str
    history: History = field(repr=False)


def decide(now: Situation, history: History, aims: Aims) -> Decision:
    """Return how many replicas a service should have."""
    history = _forgetting(now, history)
    hot = _hot(now, history, aims)
    history = replace(history, lags=tuple((each.shard, each.lag_seconds, each.lag_records) for each in now.hosts))
    out = _out_of_bounds(now, history)
    if out is not None:
        return out
    if history.draining is not None:
        return _draining(now, history, hot, aims)
    if now.ready < now.replicas:
        history = replace(history, hot_since=None, cool_since=None)
        return Decision(now.replicas, f"{now.ready} of {now.replicas} replicas are ready: waiting for the others", history)
    if hot is not None:
        return _more(now, replace(history, cool_since=None), hot, aims)
    return _fewer(now, replace(history, hot_since=None), aims)


@dataclass(frozen=True, slots=True)
class _Hot:
    """What is too much for a host."""

    reason: str
    by_memory: bool


def _forgetting(now: Situation, history: History) -> History:
    """Forget a draining that is over: the number of replicas is as it was to be, or another client changed it."""
    if history.draining is None or history.draining < now.replicas:
        return history
    return replace(history, draining=None, drain_since=None, changed_at=now.at, cool_since=None, hot_since=None)


def _out_of_bounds(now: Situation, history: History) -> Decision | None:
    bounds = now.bounds
    needed = min(now.stranded, bounds.most)
    if bounds.least <= now.replicas < needed:
        reason = f"shard {now.stranded - 1} has plans and no replica: it has to come back before they can leave it"
        return Decision(needed, reason, replace(_rest(history, now), draining=None, drain_since=None))
    if now.replicas < bounds.least:
        reason = f"{now.replicas} replicas are fewer than the {bounds.least} that there must be at least"
        return Decision(bounds.least, reason, replace(_rest(history, now), draining=None, drain_since=None))
    if now.replicas > bounds.most:
        reason = f"{now.replicas} replicas are more than the {bounds.most} that there may be at most"
        since = now.at if history.drain_since is None else history.drain_since
        return Decision(bounds.most, reason, replace(history, draining=bounds.most, drain_since=since))
    return None


def _hot(now: Situation, history: History, aims: Aims) -> _Hot | None:
    """Return what is too much for some host, by recent loads."""
    before = {shard: (seconds, records) for shard, seconds, records in history.lags}
    for host in now.hosts:
        if host.age_seconds > aims.load_seconds or not host.patterns:
            continue
        name = f"shard {host.shard}"
        if host.memory_bytes > aims.memory_bytes:
            return _Hot(f"{name} has {_mib(host.memory_bytes)} of memory, more than {_mib(aims.memory_bytes)}", by_memory=True)
        if host.busy > aims.busy:
            return _Hot(f"{name} is busy {host.busy:.0%} of its time, more than {aims.busy:.0%}", by_memory=False)
        seconds, records = before.get(host.shard, (0.0, 0))
        if host.lag_seconds > aims.lag_seconds and host.lag_seconds >= seconds:
            return _Hot(
                f"{name} is {host.lag_seconds:.0f} s behind, more than {aims.lag_seconds:.0f} s, and not catching up",
                by_memory=False,
            )
        if host.lag_records > aims.lag_records and host.lag_records >= records:
            return _Hot(
                f"{name} is {host.lag_records} records behind, more than {aims.lag_records}, and not catching up",
                by_memory=False,
            )
    return None


def _draining(now: Situation, history: History, hot: _Hot | None, aims: Aims) -> Decision:
    to, since = history.draining or now.replicas, history.drain_since if history.drain_since is not None else now.at
    ended = replace(_rest(history, now), draining=None, drain_since=None)
    if to < now.bounds.least:
        return Decision(now.replicas, f"there must be {now.bounds.least} replicas at least: none is taken away", ended)
    if hot is not None:
        return Decision(now.replicas, f"{hot.reason}: no replica is taken away", ended)
    if now.at - since > aims.drain_seconds:
        reason = f"patterns did not leave the shards from {to} on within {aims.drain_seconds:.0f} s: none is taken away"
        return Decision(now.replicas, reason, ended)
    return Decision(to, f"{_count(to)} can carry the load: patterns leave the shards from {to} on", history)


def _more(now: Situation, history: History, hot: _Hot, aims: Aims) -> Decision:
    since = now.at if history.hot_since is None else history.hot_since
    history = replace(history, hot_since=since)
    if now.replicas >= now.bounds.most:
        return Decision(now.replicas, f"{hot.reason}; there may be {now.bounds.most} replicas at most", history)
    if now.replicas >= now.patterns:
        return Decision(
            now.replicas, f"{hot.reason}; it has {_count(now.patterns, 'pattern')}, and more replicas are of no use", history
        )
    lasting = now.at - since
    if lasting < aims.out_after_seconds:
        return Decision(now.replicas, f"{hot.reason}, for {lasting:.0f} s: waiting whether it lasts", history)
    if _rests(now, history, aims):
        return Decision(now.replicas, f"{hot.reason}; waiting for what the last change brings", history)
    busy, memory = _busy(now), _memory(now)
    asked = max(ceil(busy / aims.busy), ceil(memory / aims.memory_bytes), now.replicas + 1)
    wanted = min(asked, now.replicas + aims.step_out, now.bounds.most, now.patterns)
    left = tuple(each for each in history.left if each.replicas < now.replicas)
    left += (Left(now.replicas, busy, memory, hot.by_memory),)
    return Decision(wanted, f"{hot.reason}, for {lasting:.0f} s", replace(_rest(history, now), left=left))


def _fewer(now: Situation, history: History, aims: Aims) -> Decision:
    if now.replicas <= now.bounds.least:
        return Decision(now.replicas, "the load is carried", replace(history, cool_since=None))
    unknown = [each.shard for each in now.hosts if each.patterns and each.age_seconds > aims.load_seconds]
    if unknown:
        reason = f"what shard {unknown[0]} costs is not known: none is taken away"
        return Decision(now.replicas, reason, replace(history, cool_since=None))
    wanted = _fewest(now, history, aims)
    if wanted == now.replicas:
        return Decision(now.replicas, "the load is carried, and fewer would not carry it", replace(history, cool_since=None))
    since = now.at if history.cool_since is None else history.cool_since
    history = replace(history, cool_since=since)
    if now.at - since < aims.in_after_seconds or _rests(now, history, aims):
        reason = f"{_count(wanted)} would carry the load, for {now.at - since:.0f} s: waiting whether it lasts"
        return Decision(now.replicas, reason, history)
    left = tuple(each for each in history.left if each.replicas < wanted)
    history = replace(history, draining=wanted, drain_since=now.at, cool_since=None, left=left)
    return Decision(wanted, f"{_count(wanted)} can carry the load: patterns leave the shards from {wanted} on", history)


def _fewest(now: Situation, history: History, aims: Aims) -> int:
    """Return how many replicas would do, a step below what there is at most."""
    busy, memory = _busy(now), _memory(now)
    lags = any(each.lag_seconds > aims.lag_seconds or each.lag_records > aims.lag_records for each in now.hosts)
    if lags:
        return now.replicas
    for wanted in range(max(now.bounds.least, now.replicas - aims.step_in), now.replicas):
        fits = busy <= wanted * aims.busy_after and memory <= wanted * aims.memory_bytes * _ROOM
        if fits and all(_is_relieved(each, busy, memory, aims) for each in history.left if each.replicas >= wanted):
            return wanted
    return now.replicas


def _is_relieved(left: Left, busy: float, memory: int, aims: Aims) -> bool:
    """Whether the load is clearly less than when a number of replicas did not suffice."""
    return memory <= aims.relief * left.memory_bytes if left.by_memory else busy <= aims.relief * left.busy


def _busy(now: Situation) -> float:
    return sum(each.busy for each in now.hosts if each.patterns)


def _memory(now: Situation) -> int:
    return sum(each.memory_bytes for each in now.hosts if each.patterns)


def _rests(now: Situation, history: History, aims: Aims) -> bool:
    return history.changed_at is not None and now.at - history.changed_at < aims.rest_seconds


def _rest(history: History, now: Situation) -> History:
    return replace(history, changed_at=now.at, hot_since=None, cool_since=None)


def _count(count: int, what: str = "replica") -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _mib(count: int) -> str:
    return f"{count / 1024**2:,.0f} MiB"
