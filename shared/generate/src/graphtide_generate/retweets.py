"""Generates messages of users, and how others hand them on.

Users post messages, and some of these go round. Each retweet is of someone who has the message, its author or one who handed it
on, and mostly of one of the first. So few users have many who hand on what they say. Messages that go round fade, and some
users answer instead.

Shape: as the Twitter data of paper 000, Figure 6, but smaller. There is a record every ten seconds in place of every 7
milliseconds. So windows of 12 to 72 hours hold 4,300 to 26,000 of them. Cost: O(n log n) for n records.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_generate.schedule import MIDNIGHT, SECOND, popularity, steady_times
from graphtide_generate.stream import Draft, Drafts, Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_generate.stream import GeneratedStream

PATTERN = """\
PATTERN influence
MATCH (u:user)-[a:retweet]->(x:user), (u)-[b:retweet]->(y:user), (u)-[c:retweet]->(z:user),
      (x)-[d1:retweet]->(d:user), (x)-[e1:retweet]->(e:user), (y)-[f1:retweet]->(f:user), (y)-[g1:retweet]->(g:user),
      (z)-[h1:retweet]->(h:user), (z)-[i1:retweet]->(i:user)
ORDER a < d1, a < e1, b < f1, b < g1, c < h1, c < i1
UNDER DUAL SIMULATION REPORT INSTANCES
ON retweets WINDOW 12h
"""


@dataclass(frozen=True, slots=True)
class RetweetOptions:
    """How many records, among how many users, and how messages go round.

    Attributes:
        recipe: its `records` are posts, retweets and answers.
        users: how many.
        start: of the stream, in milliseconds.
        gap: milliseconds between two records, on average.
        posts: share of the records that are new messages.
        answers: share of the others that are answers.
        rounds: messages that go round at once.
        loyal: how likely a retweet is of one of the first who had the message, as many as the square root of all.
    """

    recipe: Recipe = field(default_factory=lambda: Recipe.of_nature(1, 10_000))
    users: int = 2_000
    start: int = MIDNIGHT
    gap: int = 10 * SECOND
    posts: float = 0.3
    answers: float = 0.3
    rounds: int = 200
    loyal: float = 0.95

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: no other account exists to pass a message on, a share is outside 0 to 1, or `plants` are invalid.
        """
        self.recipe.refuse_plants("retweets")
        if self.users < 2 or self.rounds < 1:
            message = "retweets need two users, and a message that goes round"
            raise ValueError(message)
        if not all(0 <= share <= 1 for share in (self.posts, self.answers, self.loyal)):
            message = "shares of records lie from 0 to 1"
            raise ValueError(message)


def generate(options: RetweetOptions) -> GeneratedStream:
    """Return the records of `options`, with ids w000000, w000001, … in the order of time."""
    drafts = Drafts("influence")
    drafts.add(_records(random.Random(options.recipe.seed), options))  # noqa: S311 - test data, no secrets
    return drafts.finish("w", PATTERN)


def _records(rng: random.Random, options: RetweetOptions) -> Iterator[Draft]:
    attention = popularity(options.rounds, 0.9)
    rounds: list[list[int]] = []
    for number, ts in enumerate(steady_times(rng, options.recipe.records, options.start, options.gap)):
        user = rng.randrange(options.users)
        if not rounds or rng.random() < options.posts:
            yield Draft(ts, f"u{user}", f"m{number}", "posts", "user", "message", {})
            _go_round(rng, options, rounds, user)
            continue
        had = rounds[min(rng.choices(range(options.rounds), cum_weights=attention)[0], len(rounds) - 1)]
        first = rng.randrange(max(1, int(len(had) ** 0.5)))
        source = had[first] if rng.random() < options.loyal else rng.choice(had)
        if rng.random() < options.answers:
            yield Draft(ts, f"u{user}", f"u{source}", "reply", "user", "user", {})
        else:
            yield Draft(ts, f"u{source}", f"u{user}", "retweet", "user", "user", {})
            had.append(user)


def _go_round(rng: random.Random, options: RetweetOptions, rounds: list[list[int]], user: int) -> None:
    """Let a message go round in place of one that fades."""
    if len(rounds) < options.rounds:
        rounds.append([user])
    else:
        rounds[rng.randrange(options.rounds)] = [user]
