"""How many 2-edge paths of each type there are, held as numbers: a stream with thousands of labels has millions of types.

An end is numbered by the place of its edge's type, doubled, plus 1 where the edge comes in. Invariant: `keys` ascends, and each
of its keys holds the lesser number of two ends above the greater. `counts` says how many paths there are of each. So paths of
two given ends are found by bisection. The paths of one end, and those by vertex labels alone, are put together when they are
first asked for.

As a mapping it gives `PathType` for numbers, all of them at the first use: planning asks by labels, and never needs them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from graphtide_core.statistics.kinds import Direction, EdgeEnd, EdgeType, PathType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graphtide_core.statistics.kinds import AskedEnd

End = int
"""Number of an end."""

_LOW: Final = 32
_MASK: Final = (1 << _LOW) - 1
_LOOKS: Final = 64
"""Pairs of ends that are looked for one by one; where there are more, the paths of each end of the fewer are read."""


def end_number(place: int, direction: Direction) -> End:
    """Return the number of an end of an edge whose type has this place."""
    return 2 * place + (direction is Direction.IN)


class PathCounts(Mapping[PathType, int]):
    """Counts of 2-edge paths.

    Attributes:
        kinds: types of edges by their places; they differ.
        steps: how many counts were looked at to answer.
    """

    def __init__(self, kinds: Sequence[EdgeType], keys: Sequence[int], counts: Sequence[int]) -> None:
        """Hold what the invariant says; see `of`, `of_rows` and `of_sorted` for what need not be in order."""
        self.kinds = tuple(kinds)
        self.steps = 0
        self._keys = keys
        self._counts = counts
        self._decoded: dict[PathType, int] | None = None
        self._ends_by_label: dict[str | None, list[End]] = {}
        self._fitting: dict[AskedEnd, frozenset[End]] = {}
        self._lesser: dict[End, array[int]] | None = None
        self._unlabelled: PathCounts | None = None
        self._meetings: dict[tuple[AskedEnd, AskedEnd], int] = {}
        self._paths: dict[tuple[AskedEnd, AskedEnd], int] = {}

    @classmethod
    def of(cls, paths: Mapping[PathType, int]) -> PathCounts:
        """Return the same counts. Complexity: O(paths log paths)."""
        if isinstance(paths, cls):
            return paths
        places: dict[EdgeType, int] = {}
        rows = []
        for path, count in paths.items():
            one, other = [
                end_number(places.setdefault(end.kind, len(places)), end.direction) for end in (path.first, path.second)
            ]
            rows.append((one, other, count))
        return cls.of_rows(list(places), rows)

    @classmethod
    def of_rows(cls, kinds: Sequence[EdgeType], rows: Iterable[tuple[End, End, int]]) -> PathCounts:
        """Return counts given as rows of two ends, in any order; of equal rows the last one counts. Kinds may be equal.

        Complexity: O(rows log rows).
        """
        places = {kind: place for place, kind in reversed(list(enumerate(kinds)))}
        same = [places[kind] for kind in kinds]
        found: dict[int, int] = {}
        for one, other, count in rows:
            found[_key(2 * same[one >> 1] + (one & 1), 2 * same[other >> 1] + (other & 1))] = count
        keys = sorted(found)
        return cls(kinds, _pack(keys), _pack([found[key] for key in keys]))

    @classmethod
    def of_sorted(cls, kinds: Sequence[EdgeType], keys: bytes, counts: bytes) -> PathCounts:
        """Return counts given as native integers of 64 bits, ascending by key; those of kinds that look alike are added.

        Complexity: O(bytes), but O(paths log paths) where kinds look alike.
        """
        packed, counted = array("Q"), array("Q")
        packed.frombytes(keys)
        counted.frombytes(counts)
        places = {kind: place for place, kind in reversed(list(enumerate(kinds)))}
        if len(places) == len(kinds):
            return cls(kinds, packed, counted)
        same = [2 * places[kind] + way for kind in kinds for way in (0, 1)]
        return cls._added(kinds, same, zip(packed, counted, strict=True))

    @classmethod
    def _added(cls, kinds: Sequence[EdgeType], same: Sequence[End], paths: Iterable[tuple[int, int]]) -> PathCounts:
        """Return counts with each end given the number that it has in `same`."""
        found: dict[int, int] = {}
        for key, count in paths:
            alike = _key(same[key >> _LOW], same[key & _MASK])
            found[alike] = found.get(alike, 0) + count
        keys = sorted(found)
        return cls(kinds, _pack(keys), _pack([found[key] for key in keys]))

    def rows(self) -> Iterator[tuple[End, End, int]]:
        """Yield the two ends of each type of paths, and how many of these there are."""
        for key, count in zip(self._keys, self._counts, strict=True):
            yield key >> _LOW, key & _MASK, count

    def beside(self, other: PathCounts) -> list[tuple[int, int]]:
        """Return, of each type of paths that either has, how many these and the others are. Complexity: O(paths)."""
        places = {kind: place for place, kind in enumerate(self.kinds)}
        ends = [2 * places.setdefault(kind, len(places)) + way for kind in other.kinds for way in (0, 1)]
        own = dict(zip(self._keys, self._counts, strict=True))
        theirs = {_key(ends[one], ends[two]): count for one, two, count in other.rows()}
        return [(own.get(key, 0), theirs.get(key, 0)) for key in {**own, **theirs}]

    def meetings(self, asked: AskedEnd, other: AskedEnd) -> int:
        """Return how often an end that fits the one lies beside another that fits the other; two that can change places twice.

        Complexity: see `paths`.
        """
        if (asked, other) not in self._meetings:
            self._meetings[asked, other] = self._answer(asked, other).met(asked, other)
        return self._meetings[asked, other]

    def paths(self, asked: AskedEnd, other: AskedEnd) -> int:
        """Return how many paths have one end that fits the one and another that fits the other, each path once.

        Complexity: O(log paths) for each pair of ends that fit, where these are few. Else it is O(paths of the ends that fit
        the one, or the other); O(1) for later calls. The first call that reads the paths of an end, and the first without a
        label of either edge, take O(paths).
        """
        if (asked, other) not in self._paths:
            self._paths[asked, other] = self._answer(asked, other).once(asked, other)
        return self._paths[asked, other]

    def _answer(self, asked: AskedEnd, other: AskedEnd) -> PathCounts:
        """Return who knows it with the least work: types with their labels left out where no label is asked for."""
        return self._without_labels() if asked[0][1] is None and other[0][1] is None else self

    def met(self, asked: AskedEnd, other: AskedEnd) -> int:
        """Return what `meetings` does, of these kinds."""
        return sum(count if one != two else 2 * count for one, two, count in self._between(asked, other))

    def once(self, asked: AskedEnd, other: AskedEnd) -> int:
        """Return what `paths` does, of these kinds."""
        either = self._ends_that_fit(asked) & self._ends_that_fit(other)
        twice = 0
        for one, two, count in self._between(asked, other):
            comes_twice = one != two and one in either and two in either
            twice += count if comes_twice else 2 * count
        return twice // 2

    def _between(self, asked: AskedEnd, other: AskedEnd) -> Iterator[tuple[End, End, int]]:
        """Yield for each end that fits the one and each that fits the other how many paths they make, where they make any."""
        ones, twos = self._ends_that_fit(asked), self._ends_that_fit(other)
        if len(ones) * len(twos) <= _LOOKS:
            for one in ones:
                for two in twos:
                    self.steps += 1
                    count = self._count(_key(one, two))
                    if count:
                        yield one, two, count
            return
        swapped = len(ones) > len(twos)
        few, many = (twos, ones) if swapped else (ones, twos)
        for end in few:
            for partner, count in self._partners(end):
                self.steps += 1
                if partner in many:
                    yield (partner, end, count) if swapped else (end, partner, count)

    def _count(self, key: int) -> int:
        place = bisect_left(self._keys, key)
        return self._counts[place] if place < len(self._keys) and self._keys[place] == key else 0

    def _partners(self, end: End) -> Iterator[tuple[End, int]]:
        """Yield what an end makes paths with, and how many."""
        place, past = bisect_left(self._keys, end << _LOW), bisect_left(self._keys, (end + 1) << _LOW)
        for each in range(place, past):
            yield self._keys[each] & _MASK, self._counts[each]
        for each in self._places_of_lesser().get(end, ()):
            yield self._keys[each] >> _LOW, self._counts[each]

    def _places_of_lesser(self) -> dict[End, array[int]]:
        """Return for every end the places of the paths that it makes with ends of lesser numbers."""
        if self._lesser is None:
            found: dict[End, array[int]] = {}
            self.steps += len(self._keys)
            for place, key in enumerate(self._keys):
                greater = key & _MASK
                if key >> _LOW != greater:
                    if greater not in found:
                        found[greater] = array("Q")
                    found[greater].append(place)
            self._lesser = found
        return self._lesser

    def _without_labels(self) -> PathCounts:
        """Return the paths by the labels of vertices alone."""
        if self._unlabelled is None:
            bare = [EdgeType(kind.source_label, "", kind.target_label) for kind in self.kinds]
            places: dict[EdgeType, int] = {}
            same = [2 * places.setdefault(kind, len(places)) + way for kind in bare for way in (0, 1)]
            self.steps += len(self._keys)
            self._unlabelled = self._added(list(places), same, zip(self._keys, self._counts, strict=True))
        return self._unlabelled

    def _ends_that_fit(self, asked: AskedEnd) -> frozenset[End]:
        """Return the ends that a query edge can match which asks for these labels and lies so."""
        if asked not in self._fitting:
            (source, label, target), direction = asked
            way = direction is Direction.IN
            self._fitting[asked] = frozenset(
                end + way
                for end in self._by_label().get(label, ())
                if source in (None, self.kinds[end >> 1].source_label) and target in (None, self.kinds[end >> 1].target_label)
            )
        return self._fitting[asked]

    def _by_label(self) -> dict[str | None, list[End]]:
        """Return the outgoing ends of the edges with each label, and of all under None."""
        if not self._ends_by_label:
            for place, kind in enumerate(self.kinds):
                self._ends_by_label.setdefault(kind.label, []).append(2 * place)
            self._ends_by_label[None] = list(range(0, 2 * len(self.kinds), 2))
        return self._ends_by_label

    def _all(self) -> dict[PathType, int]:
        if self._decoded is None:
            ends = [EdgeEnd(kind, way) for kind in self.kinds for way in (Direction.OUT, Direction.IN)]
            self._decoded = {PathType.of(ends[one], ends[other]): count for one, other, count in self.rows()}
        return self._decoded

    def __getitem__(self, path: PathType) -> int:
        """Return how many paths of a type there are."""
        return self._all()[path]

    def __iter__(self) -> Iterator[PathType]:
        """Yield the types."""
        return iter(self._all())

    def __len__(self) -> int:
        """Return how many types there are."""
        return len(self._keys)

    def total(self) -> int:
        """Return how many paths there are of all types."""
        return sum(self._counts)


def _key(one: End, other: End) -> int:
    return one << _LOW | other if one < other else other << _LOW | one


def _pack(numbers: list[int]) -> Sequence[int]:
    """Return the numbers in eight bytes each, or as they are where one needs more.

    Raises:
        TypeError: one is not an integer.
    """
    try:
        return array("Q", numbers)
    except OverflowError:
        return numbers
