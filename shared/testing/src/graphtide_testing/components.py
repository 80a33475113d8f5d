"""Match components as tests compare them: what an engine reported, and what the oracle expects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphtide_testing.found import Found
    from graphtide_testing.oracles.simulation import Component

Emitted = tuple[str, int, frozenset[tuple[str, str]], str, tuple[str, ...]]
"""Kind, time of detection, pairs, id of the component, ids that it had."""


def read_report(found: Found) -> Emitted:
    """Return what an engine reported."""
    return (found.kind, found.detected_at, frozenset(found.edges), found.component, found.former)


def make_expected(component: Component) -> Emitted:
    """Return what the oracle expects."""
    of = component.component or ""
    return (component.kind.value, component.detected_at, component.pairs, of, component.former)


def by_text(emitted: list[Emitted]) -> list[Emitted]:
    """Return emitted components in an order that does not depend on hashes."""
    return sorted(emitted, key=comparable)


def comparable(emitted: Emitted) -> tuple[object, ...]:
    """Return an emitted component in a form that does not depend on hashes."""
    return (emitted[0], emitted[1], sorted(emitted[2]), *emitted[3:])
