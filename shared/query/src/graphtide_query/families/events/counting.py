"""Why the matches of a pattern under `REPORT EXISTS` are listed to be counted, where arithmetic does not count them.

The native detection counts by sums over events in order (`graphtide-events/src/count.rs`). This module names what it cannot
count, as `is_countable` there decides it.
Cost: O(slots + predicates).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.event_expression import absences
from graphtide_core.event_pattern import Selection
from graphtide_core.predicate import aggregates, variables

from graphtide_query.families.events.branches import branches

if TYPE_CHECKING:
    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.plans.events import SubPattern


def is_countable(sub_pattern: SubPattern) -> bool:
    """Return whether the instances of a sub-pattern are counted without listing them."""
    return not sub_pattern.absences and _uncountable_lists(sub_pattern) is None


def reason_to_list(pattern: EventPattern) -> tuple[str, str] | None:
    """Return why the matches of a pattern are listed to be counted, and what to write instead; None where they are not.

    Raises:
        InvalidPatternError: the pattern has too many branches.
    """
    if next(absences(pattern.root), None) is not None:
        return "its NOT decides on each match", "leave out the NOT"
    if pattern.is_distinct:
        return "DISTINCT compares matches", "leave out DISTINCT"
    forms = branches(pattern)
    if len(forms) > 1:
        return "its OR compares the matches of several branches", "write a pattern for each branch"
    return _uncountable_lists(forms[0].sub_pattern)


def _uncountable_lists(sub_pattern: SubPattern) -> tuple[str, str] | None:
    lists = {f"s{place}" for place, slot in enumerate(sub_pattern.slots) if slot.repeat is not None}
    if lists and sub_pattern.selection is Selection.NEXT:
        return "SKIP TILL NEXT decides on each list", "write SKIP TILL ANY"
    for predicate in sub_pattern.predicates:
        if next(aggregates(predicate), None) is not None:
            return "a condition computes over an iteration", "leave out the condition"
        if len(variables(predicate) & lists) > 1:
            return "a condition relates two iterations", "relate each of them to a single event"
    return None
