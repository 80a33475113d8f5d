"""Generates the calls of a group of people, the core, with their many contacts, the periphery.

Every call is between one of the core and someone of the periphery. Each of the core has contacts of their own, and shares a few
of them with others of their circle. The closest are called much more often than others, and call back. A call is `long` (15
minutes and more), `short` (30 seconds and less) or `call`; a call without an answer is soon repeated.

Shape: as the Phone data of paper 000, Figure 6: 94 people, 6,700 contacts, a call every three minutes. Cost: O(n log n) for n
calls.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_generate.schedule import MIDNIGHT, MINUTE, popularity, steady_times
from graphtide_generate.stream import Draft, Drafts, Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_generate.stream import GeneratedStream

PATTERN = """\
PATTERN community
MATCH (p:periphery)-[a:long]->(c:core), (c)-[b:long]->(p), (q:periphery)-[d:long]->(c), (c)-[e:long]->(q)
UNDER DUAL SIMULATION REPORT INSTANCES
ON calls WINDOW 48h
"""

_CIRCLE = 6
"""People of the core who share contacts."""
_LONG, _SHORT = 15 * 60, 30
"""Seconds: the least of a long call, and the most of a short one."""


@dataclass(frozen=True, slots=True)
class CallOptions:
    """How many calls, between how many people.

    Attributes:
        recipe: its `records` are the calls.
        core: people of the group.
        contacts: of each of them.
        start: of the stream, in milliseconds.
        gap: milliseconds between two calls, on average.
        shared: how likely a contact is one that the circle shares.
        long: share of the calls that are long.
        unreached: share of the calls without an answer: they are short, and tried again.
    """

    recipe: Recipe = field(default_factory=lambda: Recipe.of_nature(1, 10_000))
    core: int = 94
    contacts: int = 70
    start: int = MIDNIGHT
    gap: int = 3 * MINUTE
    shared: float = 0.1
    long: float = 0.13
    unreached: float = 0.09

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: the core has no other person to call, a share is outside 0 to 1, or `plants` are invalid.
        """
        self.recipe.refuse_plants("calls")
        if min(self.core, self.contacts) < 1:
            message = "calls need someone to call, and someone who is called"
            raise ValueError(message)
        if not all(0 <= share <= 1 for share in (self.shared, self.long, self.unreached)):
            message = "shares of contacts and calls lie from 0 to 1"
            raise ValueError(message)


def generate(options: CallOptions) -> GeneratedStream:
    """Return the calls of `options`, with ids p000000, p000001, … in the order of time."""
    drafts = Drafts("community")
    drafts.add(_calls(random.Random(options.recipe.seed), options))  # noqa: S311 - test data, no secrets
    return drafts.finish("p", PATTERN)


def _calls(rng: random.Random, options: CallOptions) -> Iterator[Draft]:
    contacts = [_contacts(rng, options, person) for person in range(options.core)]
    closeness = popularity(options.contacts, 1.2)
    activity = popularity(options.core, 0.5)
    again: tuple[int, str] | None = None
    for ts in steady_times(rng, options.recipe.records, options.start, options.gap):
        if again is None:
            person = rng.choices(range(options.core), cum_weights=activity)[0]
            contact = rng.choices(contacts[person], cum_weights=closeness)[0]
            is_outgoing = rng.random() < 0.6
        else:
            (person, contact), is_outgoing = again, True
        is_unreached = is_outgoing and rng.random() < (0.6 if again else options.unreached)
        again = (person, contact) if is_unreached else None
        seconds = rng.randrange(1, _SHORT) if is_unreached else _duration(rng, options)
        label = "long" if seconds >= _LONG else "short" if seconds <= _SHORT else "call"
        ends, kinds = (f"c{person}", contact), ("core", "periphery")
        if not is_outgoing:
            ends, kinds = ends[::-1], kinds[::-1]
        yield Draft(ts, *ends, label, *kinds, {"seconds": seconds})


def _contacts(rng: random.Random, options: CallOptions, person: int) -> list[str]:
    """Return whom a person of the core knows, the closest first; the closest of a circle know one another."""
    circle = person // _CIRCLE
    own = [f"p{person}-{number}" for number in range(options.contacts)]
    return [f"s{circle}-{rng.randrange(_CIRCLE)}" if rng.random() < options.shared else contact for contact in own]


def _duration(rng: random.Random, options: CallOptions) -> int:
    """Return how many seconds a call that was taken lasted."""
    return rng.randrange(_LONG, 4 * _LONG) if rng.random() < options.long else rng.randrange(1, _LONG)
