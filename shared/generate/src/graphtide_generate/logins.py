"""Generates a day of logins with planted brute force: a user fails three times or more, and then succeeds, within ten minutes.

Only planted instances match, and each once, by construction:

1. In the background a user fails at most twice within ten minutes: no match has failures of the background alone.
2. Every instance and decoy has users of its own that the background never touches. So all events of a match are those of one
   instance, which has one success.
3. A match has all failures of the ten minutes before its success: none is left out before the first (`NOT before`) nor after it
   (`SKIP TILL NEXT`). So there is one for that success.

Cost: O(n log n) for n events.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_generate.event_stream import EventDraft, EventDrafts
from graphtide_generate.schedule import DAY, MIDNIGHT, MINUTE, SECOND, background_times, instance_times, popularity
from graphtide_generate.stream import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_generate.event_stream import Drafted, GeneratedEvents

WINDOW = 10 * MINUTE
"""Longest time from the first failure of a match to its success."""

PATTERN = """\
PATTERN brute_force
SEQ(NOT before:failed, f:failed{3,}, s:success)
PARTITION BY user
SKIP TILL NEXT
ON logins WITHIN 10m
"""

FLAWS = ("two failures", "too slow", "success first", "different users")
_MOST_FAILURES = 8
_USERS_APIECE = 3
"""Users that a near miss may need."""


@dataclass(frozen=True, slots=True)
class LoginOptions:
    """How many logins, of how many users, when. Times in milliseconds; `recipe.records` counts events of the background."""

    recipe: Recipe = field(default_factory=Recipe)
    users: int = 1_000
    start: int = MIDNIGHT
    duration: int = DAY

    def __post_init__(self) -> None:
        """Refuse what leaves no room.

        Raises:
            ValueError: too few users, or a stream no longer than the pattern; types that are to swap.
        """
        if self.recipe.swap_labels:
            message = "a login fails or succeeds: there is nothing to swap"
            raise ValueError(message)
        hidden = self.recipe.planted + self.recipe.decoys
        if self.users < _USERS_APIECE * hidden + 1:
            message = f"{hidden} instances and decoys need {_USERS_APIECE * hidden + 1} users"
            raise ValueError(message)
        if self.duration <= 2 * WINDOW:
            message = f"the stream must last longer than {2 * WINDOW} ms"
            raise ValueError(message)


def generate(options: LoginOptions) -> GeneratedEvents:
    """Return the logins of `options`, with ids l000000, l000001, … in the order of time."""
    rng = random.Random(options.recipe.seed)  # noqa: S311 - test data, no secrets
    drafts = EventDrafts("brute_force")
    hidden = options.recipe.planted + options.recipe.decoys
    cast = rng.sample(range(options.users), _USERS_APIECE * hidden)
    for number in range(hidden):
        users = cast[_USERS_APIECE * number : _USERS_APIECE * (number + 1)]
        flaw = None if number < options.recipe.planted else FLAWS[(number - options.recipe.planted) % len(FLAWS)]
        events = _attack(_times(rng, options, flaw), users, f"203.0.113.{rng.randrange(1, 255)}", flaw)
        if flaw is None:
            drafts.plant(events)
        else:
            drafts.decoy(events, flaw)
    drafts.add(_background(rng, options, frozenset(cast)))
    return drafts.finish("l", PATTERN)


def _times(rng: random.Random, options: LoginOptions, flaw: str | None) -> list[int]:
    """Return when the failures and the success happen."""
    failures = 2 if flaw == "two failures" else 3 if flaw else rng.randrange(3, _MOST_FAILURES + 1)
    times = instance_times(rng, failures + 1, options.start, options.duration - MINUTE, WINDOW)
    if flaw == "too slow":
        times[-1] = times[0] + WINDOW + rng.randrange(1, 2 * SECOND)
    return times


def _attack(times: list[int], users: list[int], address: str, flaw: str | None) -> Drafted:
    """Return the failures and the success of an attack, or of a near miss with that flaw."""
    victim = users[0]
    tried = users if flaw == "different users" else [victim] * (len(times) - 1)
    *failed, succeeded = [*times[1:], times[0]] if flaw == "success first" else times
    return {
        "f": [_event(ts, "failed", user, address) for ts, user in zip(failed, tried, strict=True)],
        "s": _event(succeeded, "success", victim, address),
    }


def _background(rng: random.Random, options: LoginOptions, cast: frozenset[int]) -> Iterator[EventDraft]:
    """Yield sessions: none to two failures, a success and perhaps a logout, as many events as are wanted in all."""
    sessions = list(_sessions(rng, options.recipe.records))
    end = options.start + options.duration
    honest = [user for user in range(options.users) if user not in cast]
    active = rng.choices(honest, cum_weights=popularity(len(honest), 0.8), k=len(sessions))
    times = background_times(rng, len(sessions), options.start, options.duration)
    failed_before: dict[int, int] = {}
    for begin, kinds, user in zip(times, sessions, active, strict=True):
        may_fail = begin > failed_before.get(user, begin - 2 * WINDOW) + WINDOW
        address = f"10.{user >> 16 & 255}.{user >> 8 & 255}.{user & 255}"
        ts = begin
        for kind in kinds:
            # Who failed a short while ago gets it right, and only does so again.
            shown = "success" if kind == "failed" and not may_fail else kind
            yield _event(min(ts, end), shown, user, address)
            if shown == "failed":
                failed_before[user] = ts
            ts += rng.randrange(2 * SECOND, 20 * SECOND) if kind == "failed" else rng.randrange(MINUTE, 30 * MINUTE)


def _sessions(rng: random.Random, records: int) -> Iterator[tuple[str, ...]]:
    """Yield the types of the events of each session."""
    room = records
    while room > 0:
        failures, leaves = rng.choices((0, 1, 2), (85, 10, 5))[0], rng.random() < 0.5
        kinds = (("failed",) * failures + ("success",) + ("logout",) * leaves)[-room:]
        room -= len(kinds)
        yield kinds


def _event(ts: int, kind: str, user: int, address: str) -> EventDraft:
    return EventDraft(ts, kind, {"user": f"user-{user}", "address": address})
