"""Generates patents that cite earlier ones.

A patent is issued, and all its citations bear that time. It cites recent patents most, and of two the one that was cited more;
a patent is of the country of its first inventor.

Shape: as the Patent data of paper 000, Figure 6, but smaller. There is a citation every half hour in place of every 47 seconds.
So windows of 90 to 720 days hold 4,300 to 34,600 of them. Cost: O(n log n) for n citations.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from graphtide_generate.schedule import MIDNIGHT, MINUTE
from graphtide_generate.stream import Draft, Drafts, Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_generate.stream import GeneratedStream

COUNTRIES: Final = {"US": 52, "JP": 20, "DE": 8, "GB": 5, "FR": 4, "CA": 3, "CH": 2, "IT": 2, "SE": 2, "KR": 2}
"""Weights of the countries of first inventors."""

PATTERN = """\
PATTERN close_interaction
MATCH (root:US)-[a:cites]->(l:JP), (root)-[b:cites]->(r:DE),
      (l)-[c:cites]->(ll:US), (l)-[d:cites]->(lr:DE), (r)-[e:cites]->(rl:US), (r)-[f:cites]->(rr:JP)
ORDER c < a, d < a, e < b, f < b
UNDER DUAL SIMULATION REPORT INSTANCES
ON citations WINDOW 360d
"""


@dataclass(frozen=True, slots=True)
class CitationOptions:
    """How many citations, how far apart, and how old what they cite.

    Attributes:
        recipe: its `records` are the citations.
        start: of the stream, in milliseconds.
        gap: milliseconds between two citations, on average.
        citations: of a patent, on average.
        recent: how many patents lie between one and those it cites, on average.
    """

    recipe: Recipe = field(default_factory=lambda: Recipe.of_nature(1, 10_000))
    start: int = MIDNIGHT
    gap: int = 30 * MINUTE
    citations: float = 4.4
    recent: float = 2_000.0

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: no citations, or plants.
        """
        self.recipe.refuse_plants("citations")
        if min(self.citations, self.recent) < 1:
            message = "a patent cites one at least, and none younger than itself"
            raise ValueError(message)


def generate(options: CitationOptions) -> GeneratedStream:
    """Return the citations of `options`, with ids c000000, c000001, … in the order of time."""
    drafts = Drafts("close_interaction")
    drafts.add(_citations(random.Random(options.recipe.seed), options))  # noqa: S311 - test data, no secrets
    return drafts.finish("c", PATTERN)


def _citations(rng: random.Random, options: CitationOptions) -> Iterator[Draft]:
    weights = list(COUNTRIES.values())
    countries: list[str] = rng.choices(list(COUNTRIES), weights)
    cited = [0]
    left = options.recipe.records
    while left > 0:
        patent = len(countries)
        countries += rng.choices(list(COUNTRIES), weights)
        ts = options.start + int((options.recipe.records - left) * options.gap)
        wanted = min(left, 1 + int(rng.expovariate(1 / (options.citations - 0.5))))
        for _ in range(wanted):
            chosen = max(_earlier(rng, options, patent), _earlier(rng, options, patent), key=cited.__getitem__)
            cited[chosen] += 1
            yield Draft(ts, f"n{patent}", f"n{chosen}", "cites", countries[patent], countries[chosen], {})
        cited.append(0)
        left -= wanted


def _earlier(rng: random.Random, options: CitationOptions, patent: int) -> int:
    return max(0, patent - 1 - int(rng.expovariate(1 / options.recent)))
