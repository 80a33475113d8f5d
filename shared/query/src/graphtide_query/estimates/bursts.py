"""Describe how many matches one record may complete, and count the ways to exchange parts of a pattern.

Interchangeable parts are such as the leaves of a star. They make one match of the same records for each of their permutations,
and the last record completes all of them at once. Each family states the parts of its patterns.

Cost: that of `symmetry.orbits`, which is bounded. Nothing is enumerated.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from graphtide_core.predicate import Attribute, Compare, Comparison, attributes, conjuncts, rename

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphtide_core.predicate import Expression

    from graphtide_query.fan_out import Expected
    from graphtide_query.symmetry import ColouredGraph

MOST_MATCHES: Final = 1_000
"""The most matches of one record without a warning."""

STEPS_A_MATCH: Final = 32
"""Steps of work for a match."""

SAVED_RECORDS: Final = 4_096
"""The most records whose unused work a pattern can save up."""

FEWEST: Final = 7
"""Interchangeable parts that make more than `MOST_MATCHES`: 6! are 720."""

_MOST_NAMED: Final = 4


@dataclass(frozen=True, slots=True)
class Burst:
    """Matches that one record may complete.

    Attributes:
        matches: the number: a lower bound if different records fill the parts of the pattern, or else an estimate.
        certain: how many come with the first match, whatever the stream.
        text: the number, the reason, and what to write instead.
    """

    matches: int
    certain: int
    text: str

    def exceeds(self, work: int) -> bool:
        """Return whether the first match needs more work than a pattern can save up at `work` steps for each record."""
        return self.certain * STEPS_A_MATCH > work * (SAVED_RECORDS + 1)


def greatest(found: Iterable[Burst | None]) -> Burst | None:
    """Return the burst with the most matches, if there is one."""
    return max((each for each in found if each is not None), key=lambda each: each.matches, default=None)


def burst_at_hub(expected: Expected | None, instead: str) -> Burst | None:
    """Return the burst that is expected at the busiest vertex of a stream, if there is one; `instead` is what to write."""
    if expected is None or expected.matches <= MOST_MATCHES:
        return None
    count = round_count(expected.matches)
    text = (
        f"one record may complete some {write_number(count)} matches, as the stream's statistics let expect: its busiest "
        f"vertex, as {expected.vertex!r}, has {expected.degree:,} edges within the window; {instead} makes them fewer"
    )
    return Burst(count, 1, text)


@dataclass(frozen=True, slots=True)
class Alike:
    """Interchangeable parts: the largest group, the permutations of each part, and those of all parts."""

    names: tuple[str, ...]
    ways: Mapping[str, int]
    matches: int


def alike(graph: ColouredGraph, number: Mapping[str, int], names: Sequence[str]) -> Alike:
    """Return which of these named parts are interchangeable; `number` maps a part to its vertex in the graph."""
    from graphtide_query.symmetry import orbits  # noqa: PLC0415 - most patterns have too few parts

    found = dict(zip(names, orbits(graph, [number[name] for name in names]), strict=True))
    some = tuple(name for name, ways in found.items() if ways > 1)
    # The last part of a group has no other part left.
    last = () if not some or some[-1] == names[-1] else (names[names.index(some[-1]) + 1],)
    return Alike((*some, *last), found, prod(found.values()))


def add_conditions(graph: ColouredGraph, number: Mapping[str, int], predicates: Iterable[Expression]) -> None:
    """Add each condition once, linked to the parts that it reads; attributes that are all equal are one part."""
    equal: list[set[tuple[str, str]]] = []
    others: dict[tuple[str, tuple[str, ...]], None] = {}
    for each in (part for predicate in predicates for part in conjuncts(predicate)):
        match each:
            case Compare(Comparison.EQUAL, Attribute(one, name), Attribute(other, second)):
                pair = {(one, name), (other, second)}
                equal = [
                    *(group for group in equal if not group & pair),
                    pair.union(*(group for group in equal if group & pair)),
                ]
            case _:
                read = tuple(dict.fromkeys(read.variable for read in attributes(each)))
                places = {name: str(place) for place, name in enumerate(read)}
                others[repr(rename(each, places)), read] = None
    for group in equal:
        part = graph.add("equal")
        for variable, name in group:
            graph.link(f"attribute {name}", part, number[variable])
    for text, read in others:
        part = graph.add(f"condition {text}")
        for place, name in enumerate(read):
            graph.link(f"reads {place}", part, number[name])


def sentence(names: Sequence[str], matches: int, what: str, instead: str, once: str | None) -> str:
    """Describe how many matches these interchangeable parts make; `once` is the clause that reports one of them."""
    named = ", ".join(names[:_MOST_NAMED])
    more = ", …" if len(names) > _MOST_NAMED else ""
    text = (
        f"one record may complete {write_number(matches)} matches: the {what} {named}{more} can be exchanged, and each way to "
        f"do so is a match; {instead}"
    )
    return text if once is None else f"{text}; {once} reports one of them, but finds all"


def round_count(count: float) -> int:
    """Round an estimate to two digits."""
    return int(float(f"{count:.1e}"))


def write_number(count: int) -> str:
    """Write the number of matches."""
    return f"{count:,}" if count < 10**15 else f"{count:.0e}".replace("e+", " x 10^")
