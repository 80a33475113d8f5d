"""Whether an event pattern is local to the key of a stream in parts.

All events of a match, and those that must not come, have equal keys if `PARTITION BY` names the key. Without it, conditions may
say so, where they always apply. One that reads an event of a branch of OR is true if another branch was taken. One that reads
an event of a NOT says nothing of the others. So each such event is compared with the events that every match has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.event_expression import choices, events, positive_events
from graphtide_core.predicate import variables

from graphtide_query.language.spelling import write_name
from graphtide_query.locality import Equalities, Locality, constant, has_key_in_class

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.event_pattern import EventPattern
    from graphtide_core.part_key import PartKey

_OF_EVENTS: Final = {"label": "type"}
"""Fields of an edge that an event has under another name."""


def locality(pattern: EventPattern, key: PartKey) -> Locality:
    """Return where a pattern is matched. Complexity: O(events * conditions)."""
    if key.field is None:
        return Locality(key, "an event has no vertices")
    field = _OF_EVENTS.get(key.field, key.field)
    # A timeout has the events of a prefix, so a condition on two events may not apply.
    always = frozenset() if pattern.emits_timeouts else frozenset(_always(pattern))
    # The events of an iteration may differ among themselves, so each is compared with an event that comes once.
    anchor = next((each.name for each in pattern.events if each.name in always and each.repeat is None), None)
    known = {each.name: _equalities(pattern, always | {each.name}) for each in pattern.events}
    have_its_key = anchor is not None and all(of.are_equal((name, field), (anchor, field)) for name, of in known.items())
    values = {of.constant_of((name, field)) for name, of in known.items()}
    value = values.pop() if len(values) == 1 else None
    if not have_its_key and value is None and field not in pattern.partition:
        return Locality(key, f"the events of a match may differ in {field}", f"add PARTITION BY {write_name(field)}")
    if value is not None or pattern.one_per is None:
        return Locality(key, constant=value)
    if _is_shared(pattern, always, anchor, field):
        return Locality(key)
    return Locality(key, "matches of two parts may have one key of ONE PER", f"add {field} to the keys of ONE PER")


def _always(pattern: EventPattern) -> Iterator[str]:
    """Yield the names of the events that every match has."""
    chosen = {event.name for choice in choices(pattern.root) for event in events(choice)}
    yield from (event.name for event in positive_events(pattern.root) if event.name not in chosen)


def _equalities(pattern: EventPattern, names: frozenset[str]) -> Equalities:
    """Return what is equal in each match that has events of these names."""
    found = Equalities(each for each in pattern.predicates if variables(each) <= names)
    first, *others = sorted(names)
    for name in pattern.partition:
        for other in others:
            found.unite((first, name), (other, name))
    for event in pattern.events:
        if event.name in names:
            found.unite((event.name, "type"), (event.name, "label"))
            if event.type is not None:
                found.unite((event.name, "type"), constant(event.type))
    return found


def _is_shared(pattern: EventPattern, always: frozenset[str], anchor: str | None, field: str) -> bool:
    """Return whether the keys of ONE PER determine the part: the key of an event of a branch of OR is missing in others."""
    keys = () if pattern.one_per is None else pattern.one_per.keys
    if anchor is not None and has_key_in_class(keys, _equalities(pattern, always), (anchor, field)):
        return True
    return field in pattern.partition and any(has_key_in_class(keys, Equalities(), (name, field)) for name in always)
