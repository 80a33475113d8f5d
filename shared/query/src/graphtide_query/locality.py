"""Whether a pattern is local to the key of a stream in parts: whether each part may match it by itself.

A pattern is local if all records of each of its matches are in one part. Then the parts together find what one pass over the
whole stream finds. The proofs use what is written, and what follows from it by transitivity. They may miss a pattern that is
local, and never take one for local that is not.

Deletions go to every part, and an id that comes again has the key of its first record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.predicate import Attribute, Compare, Comparison, Literal, conjuncts

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from graphtide_core.edge import Value
    from graphtide_core.part_key import PartKey
    from graphtide_core.predicate import Expression


@dataclass(frozen=True, slots=True)
class Locality:
    """Where a pattern on a stream in parts is matched.

    Attributes:
        key: of the stream.
        obstacle: why it is not local; None if it is.
        remedy: what would make it local; empty if nothing is known.
        constant: the one value of the key that all records of its matches have, as a tuple; None if they may have any.
        owners: by a vertex key, the name whose vertex decides which part reports a match; one for each output of a graph query.
    """

    key: PartKey
    obstacle: str | None = None
    remedy: str = ""
    constant: tuple[Value] | None = None
    owners: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether each part, or the part of the constant, may match it by itself."""
        return self.obstacle is None

    def __str__(self) -> str:
        """Return the answer as a line of EXPLAIN."""
        if self.obstacle is not None:
            remedy = f"; {self.remedy}" if self.remedy else ""
            return f"not local by {self.key}: {self.obstacle}{remedy}"
        if self.constant is not None:
            return f"local by {self.key}, in the part of {self.constant[0]!r} alone"
        owned = f", reported by the part that owns {' and '.join(dict.fromkeys(self.owners))}" if self.owners else ""
        return f"local by {self.key}{owned}"


class Equalities:
    """Values that conditions make equal: classes of attributes and constants, closed under transitivity.

    Complexity: nearly constant time for each equality.
    """

    def __init__(self, conditions: Iterable[Expression] = ()) -> None:
        """Take conditions that are all true; only `=` between attributes and constants counts."""
        self._above: dict[Hashable, Hashable] = {}
        for condition in conditions:
            self.require(condition)

    def require(self, condition: Expression) -> None:
        """Take one more condition that is true."""
        for each in conjuncts(condition):
            if isinstance(each, Compare) and each.comparison is Comparison.EQUAL:
                left, right = _value(each.left), _value(each.right)
                if left is not None and right is not None:
                    self.unite(left, right)

    def unite(self, one: Hashable, other: Hashable) -> None:
        """Take two values for equal."""
        self._above[self._root(one)] = self._root(other)

    def are_equal(self, one: Hashable, other: Hashable) -> bool:
        """Return whether two values are known to be equal."""
        return self._root(one) == self._root(other)

    def constant_of(self, value: Hashable) -> tuple[Value] | None:
        """Return the constant that a value is known to be, as a tuple."""
        root = self._root(value)
        known = (each for each in self._above if isinstance(each, _Constant) and self._root(each) == root)
        found = next(known, None)
        return None if found is None else (found.value,)

    def _root(self, value: Hashable) -> Hashable:
        above = self._above.setdefault(value, value)
        while above != value:
            self._above[value] = self._above[above]
            value, above = above, self._above[above]
        return value


@dataclass(frozen=True, slots=True)
class _Constant:
    """A constant; truth values are not the numbers that Python takes them for."""

    value: Value
    is_truth_value: bool


def constant(value: Value) -> Hashable:
    """Return a constant as a member of `Equalities`."""
    return _Constant(value, isinstance(value, bool))


def _value(expression: Expression) -> Hashable | None:
    match expression:
        case Attribute(variable, name):
            return (variable, name)
        case Literal(value) if value is not None:
            return constant(value)
        case _:
            return None


def has_key_in_class(keys: Sequence[Expression], equalities: Equalities, value: Hashable) -> bool:
    """Return whether one of the keys of ONE PER is known to equal a value."""
    return any(isinstance(each, Attribute) and equalities.are_equal((each.variable, each.name), value) for each in keys)
