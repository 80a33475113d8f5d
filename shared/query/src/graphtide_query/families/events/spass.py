"""SPASS: one level of shared sub-patterns, those first that reduce the estimated instances the most.

For each pair of sub-patterns, what they have in common is a candidate; all that contain its slots and order share it. It is
worth the instances that the sharers have of it apart, through those that they have of it together. Candidates are taken by
their worth, for those sharers whose slots no other one fills yet, if these are two at least. Slots of several types, which OR
makes, are shared as they are.

Reference: paper 002, section 6.1, of its [16] (Ray, Lei, Rundensteiner: Scalable Pattern Sharing on Event Streams, SIGMOD
2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from graphtide_query.families.events.common import common, common_of_all, restrict
from graphtide_query.families.events.forms import bits
from graphtide_query.families.events.sharing import Link, Sharing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_query.families.events.budget import Examinations
    from graphtide_query.families.events.forms import Form, Forms
    from graphtide_query.families.events.rates import Rates


class _Candidate(NamedTuple):
    """The slots that some sub-patterns share, in one order; and what sharing them is worth, 1 being nothing."""

    benefit: float
    slots: int
    sharers: tuple[int, ...]


def spass(forms: Forms, leaves: Sequence[Form], rates: Rates, work: Examinations) -> Sharing:
    """Return what is shared on one level.

    Complexity: O(n^2) examinations for n sub-patterns, and O(n) restrictions for each of the candidates, of which there may be
    as many.
    """
    sharing = Sharing(list(leaves))
    free = [leaf.slots for leaf in leaves]
    candidates = sorted(_candidates(forms, leaves, rates, work), key=lambda each: (-each.benefit, each.sharers, each.slots))
    for _, slots, sharers in candidates:
        takers = [leaf for leaf in sharers if not slots & ~free[leaf]]
        found = common_of_all(forms, [restrict(forms, leaves[leaf], slots) for leaf in takers]) if len(takers) > 1 else None
        if found is not None:
            vertex = sharing.add(found[0])
            for leaf in takers:
                sharing.parents[leaf].append(Link(vertex))
                free[leaf] &= ~slots
    return sharing


def _candidates(forms: Forms, leaves: Sequence[Form], rates: Rates, work: Examinations) -> Iterator[_Candidate]:
    asking: dict[int, set[int]] = {}
    for leaf, form in enumerate(leaves):
        for key in bits(form.slots):
            asking.setdefault(key, set()).add(leaf)
    seen: set[tuple[int, frozenset[int]]] = set()
    for leaf, form in enumerate(leaves):
        beside = set[int]().union(*(asking[key] for key in bits(form.slots & ~forms.private)))
        for other in sorted(each for each in beside if each > leaf):
            if not work.one_more():
                return
            found = common(forms, form, leaves[other])
            if found is None or found.in_first or found.in_second or (found.form.slots, found.form.order) in seen:
                continue
            seen.add((found.form.slots, found.form.order))
            slots, order = found.form.slots, found.form.order
            members = set.intersection(*(asking[key] for key in bits(slots)))
            sharers = tuple(sorted(each for each in members if order <= leaves[each].order))
            parts = [restrict(forms, leaves[each], slots) for each in sharers]
            together = common_of_all(forms, parts)
            if together is not None:
                apart = sum(rates.instances(forms, part) for part in parts)
                yield _Candidate(apart / max(rates.instances(forms, together[0]), 1e-9), slots, sharers)
