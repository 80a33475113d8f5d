"""Common parts of sub-patterns whose sharing is estimated to store less.

Conditions that differ are joined by OR, and the longest time is taken. What is in common then has more instances than any of
the sub-patterns has of it. With every slot so widened it has more again. Where it has more than all of them together, the slots
whose own conditions agree are what is left to share. Without statistics the paper's rules share it in any case.

Reference: paper 002, section 2.3: a plan is to have the fewest instances; the measure is that of SPASS in section 6.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_query.families.events.common import FEWEST_SLOTS, common_of_all, restrict
from graphtide_query.families.events.forms import bits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_query.families.events.forms import Form, Forms, Key
    from graphtide_query.families.events.rates import Rates


LEAST: Final = 1e-250
"""Instances that are as good as none."""


def shared_subpatterns(forms: Forms, rates: Rates, members: Sequence[Form]) -> tuple[Form, list[Mapping[Key, Key]]] | None:
    """Return what several sub-patterns should share, with the key in each of those of its keys that have another there.

    Complexity: of `common_of_all`, and O(slots + pairs of the orders + predicates) for each.
    """
    found = common_of_all(forms, members)
    if found is None or _is_worth_it(forms, rates, members, *found):
        return found
    form, keys = found
    agreed = sum(1 << key for key in bits(form.slots) if _agree(form, members, keys, key))
    if agreed.bit_count() < FEWEST_SLOTS:
        return None
    narrower = restrict(forms, form, agreed)
    left: list[Mapping[Key, Key]] = [{} for _ in members]
    return (narrower, left) if _is_worth_it(forms, rates, members, narrower, left) else None


def _agree(form: Form, members: Sequence[Form], keys: Sequence[Mapping[Key, Key]], key: Key) -> bool:
    """Return whether a slot is the same in all, and all ask the same of it."""
    asked = form.predicates.get(1 << key)
    return all(key not in own and each.predicates.get(1 << key) == asked for each, own in zip(members, keys, strict=True))


def _is_worth_it(forms: Forms, rates: Rates, members: Sequence[Form], form: Form, keys: Sequence[Mapping[Key, Key]]) -> bool:
    """Return whether the instances of what is in common are no more than those that the members have of it."""
    apart = 0.0
    for member, own in zip(members, keys, strict=True):
        apart += _moved_part(forms, rates, member, form, own) if own else rates.part(member, form)
        if apart >= 1.0:
            return True
    return False


def _moved_part(forms: Forms, rates: Rates, member: Form, form: Form, own: Mapping[Key, Key]) -> float:
    slots = sum(1 << own.get(key, key) for key in bits(form.slots))
    return rates.instances(forms, restrict(forms, member, slots)) / max(rates.instances(forms, form), LEAST)
