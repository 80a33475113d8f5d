"""RW: one level of shared sub-patterns, found on a random walk over the pairs that have any.

Sub-patterns are linked that have two types in common at least. The walk goes from one to a neighbour along a link that it has
not gone yet. Where there is none, it begins again at a random one that has some left. It ends when all are gone. At each step
the two are examined. What they have in common in slots that nothing fills yet becomes a parent of both, if that reduces the
estimated instances. Each apart is compared with both together. A parent that is there already gets another child.

The walk is exhaustive, as the paper compares itself with it, and the same for the same seed.

Reference: paper 002, section 6.1, of its [15] (Kolchinsky, Schuster: Real-Time Multi-Pattern Detection over Event Streams,
SIGMOD 2019).
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from random import Random
from typing import TYPE_CHECKING

from graphtide_query.families.events.common import FEWEST_SLOTS, common, implies, restrict
from graphtide_query.families.events.forms import bits
from graphtide_query.families.events.sharing import Link, Sharing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_query.families.events.budget import Examinations
    from graphtide_query.families.events.forms import Form, Forms
    from graphtide_query.families.events.rates import Rates


def random_walk(forms: Forms, leaves: Sequence[Form], rates: Rates, work: Examinations, seed: int) -> Sharing:
    """Return what is shared on one level. Complexity: O(n^2) examinations for n sub-patterns."""
    sharing = Sharing(list(leaves))
    free = [leaf.slots & ~forms.private for leaf in leaves]
    for pair in _walk(leaves, Random(seed)):  # noqa: S311 - a walk, not a secret
        if not work.one_more():
            break
        for one, other in (pair, pair[::-1]):
            for link in sharing.parents[other]:
                slots = sharing.forms[link.parent].slots
                if not slots & ~free[one] and implies(forms, leaves[one], sharing.forms[link.parent]):
                    _share(sharing, free, link.parent, one)
        if (free[pair[0]] & free[pair[1]]).bit_count() < FEWEST_SLOTS:
            continue
        parts = [restrict(forms, leaves[each], free[each]) for each in pair]
        found = common(forms, *parts)
        if found is None or found.in_first or found.in_second:
            continue
        apart = sum(rates.instances(forms, restrict(forms, part, found.form.slots)) for part in parts)
        if rates.instances(forms, found.form) < apart:
            parent = sharing.add(found.form)
            for each in pair:
                _share(sharing, free, parent, each)
    return sharing


def _share(sharing: Sharing, free: list[int], parent: int, leaf: int) -> None:
    sharing.parents[leaf].append(Link(parent))
    free[leaf] &= ~sharing.forms[parent].slots


def _walk(leaves: Sequence[Form], random: Random) -> Iterator[tuple[int, int]]:
    """Yield the links between sub-patterns with slots in common, each once."""
    asking: dict[int, list[int]] = {}
    for leaf, form in enumerate(leaves):
        for key in bits(form.slots):
            asking.setdefault(key, []).append(leaf)
    links: list[list[int]] = []
    for leaf, form in enumerate(leaves):
        beside = Counter(chain.from_iterable(asking[key] for key in bits(form.slots)))
        links.append([other for other, shared in sorted(beside.items()) if other != leaf and shared >= FEWEST_SLOTS])
        random.shuffle(links[-1])
    starts = list(range(len(leaves)))
    random.shuffle(starts)
    gone: set[tuple[int, int]] = set()
    for start in starts:
        at = start
        while links[at]:
            other = links[at].pop()
            pair = (min(at, other), max(at, other))
            if pair not in gone:
                gone.add(pair)
                yield pair
                at = other
        # The walk ended where it came to; from its start other links may be left.
        while links[start]:
            other = links[start].pop()
            pair = (min(start, other), max(start, other))
            if pair not in gone:
                gone.add(pair)
                yield pair
