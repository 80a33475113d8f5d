"""Generates weeks of bank accounts with planted structuring: deposits below the sum that is reported, and much money in a day.

Each deposit of an instance is at least 5,000 and less than 10,000, where a bank begins to report it. Their sum within a day is
more than 30,000.

Only planted instances match, and each once, by construction:

1. In the background an account has at most two such deposits within a day, with a sum below 20,000. So no match has deposits of
   the background alone.
2. Every instance and decoy has accounts of its own that the background never touches: all deposits of a match are those of one
   instance.
3. The last deposit of an instance takes it past the sum. A match that ends with it has all before it: none is left out before
   the first (`NOT before`) nor after it (`SKIP TILL NEXT`). So there is one.

Cost: O(n log n) for n events.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_generate.event_stream import EventDraft, EventDrafts
from graphtide_generate.schedule import DAY, HOUR, MIDNIGHT, SECOND, background_times, instance_times, popularity
from graphtide_generate.stream import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_generate.event_stream import GeneratedEvents

WINDOW = DAY
"""Longest time from the first to the last deposit of a match."""
LEAST, LIMIT = 5_000, 10_000
"""What a deposit of a match is at least, and what it is less than."""
SUM = 30_000
"""The sum of the deposits of a match is greater."""

PATTERN = """\
PATTERN structuring
SEQ(NOT before:deposit, d:deposit+)
WHERE before.amount >= 5000 AND before.amount < 10000 AND d.amount >= 5000 AND d.amount < 10000 AND sum(d.amount) > 30000
PARTITION BY account
SKIP TILL NEXT
ON deposits WITHIN 24h
"""

FLAWS = ("too little", "too slow", "too large", "another account")
_WEIGHTS = {"deposit": 50, "withdrawal": 30, "transfer": 20}


@dataclass(frozen=True, slots=True)
class DepositOptions:
    """How much happens, in how many accounts, when. Times in milliseconds; `recipe.records` counts events of the background."""

    recipe: Recipe = field(default_factory=Recipe)
    accounts: int = 1_000
    branches: int = 20
    start: int = MIDNIGHT
    duration: int = 7 * DAY

    def __post_init__(self) -> None:
        """Refuse what leaves no room.

        Raises:
            ValueError: too few accounts or branches, or a stream no longer than the pattern; types that are to swap.
        """
        if self.recipe.swap_labels:
            message = "the pattern is of deposits alone: there is nothing to swap"
            raise ValueError(message)
        hidden = self.recipe.planted + self.recipe.decoys
        if self.accounts < 2 * hidden + 1 or self.branches < 1:
            message = f"{hidden} instances and decoys need {2 * hidden + 1} accounts, and a branch"
            raise ValueError(message)
        if self.duration <= WINDOW + HOUR:
            message = f"the stream must last longer than {WINDOW + HOUR} ms"
            raise ValueError(message)


def generate(options: DepositOptions) -> GeneratedEvents:
    """Return the events of `options`, with ids d000000, d000001, … in the order of time."""
    rng = random.Random(options.recipe.seed)  # noqa: S311 - test data, no secrets
    drafts = EventDrafts("structuring")
    hidden = options.recipe.planted + options.recipe.decoys
    cast = rng.sample(range(options.accounts), 2 * hidden)
    for number in range(hidden):
        flaw = None if number < options.recipe.planted else FLAWS[(number - options.recipe.planted) % len(FLAWS)]
        deposits = _make_deposits(rng, options, (cast[2 * number], cast[2 * number + 1]), flaw)
        if flaw is None:
            drafts.plant({"d": deposits})
        else:
            drafts.decoy({"d": deposits}, flaw)
    drafts.add(_background(rng, options, frozenset(cast)))
    return drafts.finish("d", PATTERN)


def _make_deposits(
    rng: random.Random, options: DepositOptions, accounts: tuple[int, int], flaw: str | None
) -> list[EventDraft]:
    """Return the deposits of an instance, or of a near miss with that flaw."""
    amounts = _amounts(rng)
    times = instance_times(rng, len(amounts), options.start, options.duration - HOUR, WINDOW)
    owners = [accounts[0]] * len(amounts)
    match flaw:
        case "too little":
            del amounts[-1], times[-1], owners[-1]
        case "too slow":
            times[-1] = times[0] + WINDOW + rng.randrange(1, 2 * SECOND)
        case "too large":
            amounts[-1] = rng.randrange(LIMIT, 2 * LIMIT)
        case "another account":
            owners[-1] = accounts[1]
        case _:
            pass
    return [
        _event(ts, "deposit", account, amount, rng.randrange(options.branches))
        for ts, account, amount in zip(times, owners, amounts, strict=True)
    ]


def _amounts(rng: random.Random) -> list[int]:
    """Return amounts whose sum only the last one exceeds; the last is at most the first."""
    while True:
        amounts: list[int] = []
        while sum(amounts) <= SUM:
            amounts.append(rng.randrange(LEAST, LIMIT))
        if amounts[-1] <= amounts[0]:
            return amounts


def _background(rng: random.Random, options: DepositOptions, cast: frozenset[int]) -> Iterator[EventDraft]:
    count = options.recipe.records
    honest = [account for account in range(options.accounts) if account not in cast]
    active = rng.choices(honest, cum_weights=popularity(len(honest), 0.6), k=count)
    kinds = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()), k=count)
    before: dict[int, tuple[int, int]] = {}
    for ts, kind, account in zip(background_times(rng, count, options.start, options.duration), kinds, active, strict=True):
        amount = min(LEAST - 1, int(rng.lognormvariate(5.5, 1.3)) + 1)
        last_but_one, last = before.get(account, (ts - 2 * WINDOW, ts - 2 * WINDOW))
        if kind == "deposit" and rng.random() < 0.1:
            is_third = ts <= last_but_one + WINDOW
            amount = rng.randrange(LIMIT, 5 * LIMIT) if is_third else rng.randrange(LEAST, LIMIT)
            before[account] = (last_but_one, last) if is_third else (last, ts)
        yield _event(ts, kind, account, amount, rng.randrange(options.branches))


def _event(ts: int, kind: str, account: int, amount: int, branch: int) -> EventDraft:
    return EventDraft(ts, kind, {"account": f"account-{account}", "amount": amount, "branch": f"branch-{branch}"})
