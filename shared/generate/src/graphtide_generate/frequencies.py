"""Draws the kind of every background record; the frequencies of labels can swap half-way.

A swap changes how many records of a kind there are and nothing within one. So what a generator's module says of its records
holds on both sides of it. Cost: O(records * log kinds).
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from graphtide_generate.stream import Recipe

Kind = TypeVar("Kind")


def draw_kinds(rng: Random, weights: Mapping[Kind, float], labels: Mapping[Kind, str], recipe: Recipe) -> list[Kind]:
    """Return the kind of every background record in the order of time; the second half has swapped weights if asked."""
    kinds = list(weights)
    before = recipe.records // 2 if recipe.swap_labels else recipe.records
    drawn = rng.choices(kinds, list(weights.values()), k=before)
    return drawn + rng.choices(kinds, list(swap_ranks(weights, labels).values()), k=recipe.records - before)


def swap_ranks(weights: Mapping[Kind, float], labels: Mapping[Kind, str]) -> dict[Kind, float]:
    """Return weights that turn the ranks of labels around: the most frequent label is then as frequent as the rarest was.

    The second is as frequent as the second rarest was, and so on. The kinds of one label keep their shares of it.
    """
    totals: defaultdict[str, float] = defaultdict(float)
    for kind, weight in weights.items():
        totals[labels[kind]] += weight
    ranked = sorted(totals, key=lambda label: -totals[label])
    takes = {label: totals[mirror] for label, mirror in zip(ranked, reversed(ranked), strict=True)}
    return {kind: weight * takes[labels[kind]] / totals[labels[kind]] for kind, weight in weights.items()}
