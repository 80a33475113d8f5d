"""Generates days of social interactions with planted coordinated amplification.

Two accounts b and c push a new post m of an author a, after b has just followed c. Both like it and then reply to it with the
same text template, b's like first, all within five minutes.

Only planted instances match, by construction:

1. In the background an account either likes or replies to a given post, never both. It likes where the sum of the account's and
   the post's number is even, and replies where it is odd. So m of a match is a planted post.
2. Every instance and decoy has posts of its own that the background never touches: p, l1, l2, r1 and r2 are planted.
3. The accounts b and c of all instances and decoys are distinct, and in the background none of them follows another: f
   is planted.

Cost: O(n log n) for n interactions.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_generate.frequencies import draw_kinds
from graphtide_generate.schedule import DAY, MIDNIGHT, MINUTE, background_times, instance_times, popularity, too_slow
from graphtide_generate.stream import Draft, Drafts, Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.edge import Value

    from graphtide_generate.stream import GeneratedStream

WINDOW = 5 * MINUTE

PATTERN = """\
PATTERN amplification
MATCH (a:user)-[p:posts]->(m:post), (b:user)-[l1:likes]->(m), (c:user)-[l2:likes]->(m),
      (b)-[r1:replies]->(m), (c)-[r2:replies]->(m), (b)-[f:follows]->(c)
WHERE r1.template = r2.template
ORDER p < l1 < l2, l1 < r1, l2 < r2
ON interactions WINDOW 5m
"""

FLAWS = ("reply before like", "too slow", "different post", "followed back", "different text", "tie")
_WEIGHTS = {"post": 12, "reaction": 70, "follow": 18}
_LABELS = {"post": "posts", "reaction": "likes and replies", "follow": "follows"}
"""Likes and replies are as frequent as each other, so that they swap as one."""
_RECENT = 100
_TEMPLATES = 40


@dataclass(frozen=True, slots=True)
class SocialOptions:
    """How many interactions, between how many accounts, when. Times in milliseconds; `recipe.records` counts the background."""

    recipe: Recipe = field(default_factory=Recipe)
    users: int = 1_000
    start: int = MIDNIGHT
    duration: int = DAY

    def __post_init__(self) -> None:
        """Refuse what leaves no room.

        Raises:
            ValueError: too few accounts, or a stream no longer than the pattern.
        """
        hidden = self.recipe.planted + self.recipe.decoys
        if self.users < 3 * hidden + 1:
            message = f"{hidden} instances and decoys need {3 * hidden + 1} users"
            raise ValueError(message)
        if self.duration <= 2 * WINDOW:
            message = f"the stream must last longer than {2 * WINDOW} ms"
            raise ValueError(message)


def generate(options: SocialOptions) -> GeneratedStream:
    """Return the interactions of `options`, with ids s000000, s000001, … in the order of time."""
    rng = random.Random(options.recipe.seed)  # noqa: S311 - test data, no secrets
    drafts = Drafts("amplification")
    hidden = options.recipe.planted + options.recipe.decoys
    cast = rng.sample(range(options.users), 3 * hidden)
    for number in range(hidden):
        a, b, c = (f"user-{account}" for account in cast[3 * number : 3 * number + 3])
        post, other_post = (f"post-{options.recipe.records + 2 * number + extra}" for extra in (0, 1))
        flaw = None if number < options.recipe.planted else FLAWS[(number - options.recipe.planted) % len(FLAWS)]
        edges = _amplification(rng, _times(rng, options, flaw), (a, b, c), (post, other_post), flaw)
        if flaw is None:
            drafts.plant(edges, {"a": a, "m": post, "b": b, "c": c})
        else:
            drafts.decoy(edges, flaw)
    drafts.add(_background(rng, options, frozenset(cast)))
    return drafts.finish("s", PATTERN)


def _times(rng: random.Random, options: SocialOptions, flaw: str | None) -> dict[str, int]:
    """Return when the six interactions happen; those that the pattern leaves unordered come in any order."""
    order = ["p", "l1", *rng.choice((("l2", "r1"), ("r1", "l2"))), "r2"]
    order.insert(rng.randrange(6), "f")
    times = instance_times(rng, 6, options.start, options.duration - MINUTE, WINDOW)
    if flaw == "too slow":
        times = too_slow(rng, times, WINDOW)
    at = dict(zip(order, times, strict=True))
    if flaw == "reply before like":
        at["l1"], at["r1"] = at["r1"], at["l1"]
    if flaw == "tie":
        first, second = rng.choice((("p", "l1"), ("l1", "l2"), ("l1", "r1"), ("l2", "r2")))
        at[second] = at[first]
    return at


def _amplification(
    rng: random.Random, at: dict[str, int], accounts: tuple[str, str, str], posts: tuple[str, str], flaw: str | None
) -> dict[str, Draft]:
    """Return the six interactions of one amplification, or of a near miss with that flaw."""
    a, b, c = accounts
    post, other_post = posts
    template = rng.randrange(_TEMPLATES)
    other_template = (template + 1) % _TEMPLATES if flaw == "different text" else template
    follower, followed = (c, b) if flaw == "followed back" else (b, c)
    return {
        "p": _post(rng, at["p"], a, post),
        "l1": _like(at["l1"], b, post),
        "l2": _like(at["l2"], c, post),
        "r1": _reply(rng, at["r1"], b, post, template),
        "r2": _reply(rng, at["r2"], c, other_post if flaw == "different post" else post, other_template),
        "f": Draft(at["f"], follower, followed, "follows", "user", "user", {}),
    }


def _background(rng: random.Random, options: SocialOptions, cast: frozenset[int]) -> Iterator[Draft]:
    """Yield posts, reactions to recent posts and follows; the first record is a post, so that there is one to react to."""
    count = options.recipe.records
    honest = [number for number in range(options.users) if number not in cast]
    kinds = draw_kinds(rng, _WEIGHTS, _LABELS, options.recipe)
    active = rng.choices(range(options.users), cum_weights=popularity(options.users, 0.8), k=count)
    recency = rng.choices(range(_RECENT), cum_weights=popularity(_RECENT, 1.0), k=count)
    posts = 0
    for ts, kind, user, age in zip(
        background_times(rng, count, options.start, options.duration), kinds, active, recency, strict=True
    ):
        name = f"user-{user}"
        if kind == "post" or posts == 0:
            yield _post(rng, ts, name, f"post-{posts}")
            posts += 1
        elif kind == "follow":
            followed = rng.choice(honest) if user in cast else rng.randrange(options.users)
            yield Draft(ts, name, f"user-{followed}", "follows", "user", "user", {})
        else:
            post = max(0, posts - 1 - age)
            if (user + post) % 2 == 0:
                yield _like(ts, name, f"post-{post}")
            else:
                yield _reply(rng, ts, name, f"post-{post}", rng.randrange(_TEMPLATES))


def _post(rng: random.Random, ts: int, user: str, post: str) -> Draft:
    return Draft(ts, user, post, "posts", "user", "post", {"length": rng.randrange(1, 280)})


def _like(ts: int, user: str, post: str) -> Draft:
    return Draft(ts, user, post, "likes", "user", "post", {})


def _reply(rng: random.Random, ts: int, user: str, post: str, template: int) -> Draft:
    attributes: dict[str, Value] = {"length": rng.randrange(1, 280), "template": f"t{template}"}
    return Draft(ts, user, post, "replies", "user", "post", attributes)
