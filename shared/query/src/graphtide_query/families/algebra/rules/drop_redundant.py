"""Remove redundant parts: duplicates, UNIONs of UNIONs, FILTERs without conditions, PATTERNs that keep everything.

    UNION(X, X) = X        UNION(UNION(X, Y), Z) = UNION(X, Y, Z)        PATTERN[x, y](X as (x, y)) = X

Reference: paper 001, section 5.4: UNION, FILTER and PATTERN keep the laws of their relational counterparts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.algebra import Filter, Path, Pattern, Union
from graphtide_core.path_expression import symbols

from graphtide_query.families.algebra.path_forms import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra


def drop_redundant(expression: Algebra) -> Iterator[Algebra]:
    """Yield the expression without what adds nothing, if there is such.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> [write_text(each) for each in drop_redundant(read("UNION(a, UNION(b, a))"))]
    ['UNION(a, b)']
    """
    found = _without(expression)
    if found != expression:
        yield found


def _without(expression: Algebra) -> Algebra:
    match expression:
        case Union(operands, label):
            flat = (inner for each in operands for inner in (each.operands if isinstance(each, Union) else (each,)))
            once = tuple(dict.fromkeys(flat))
            return once[0] if len(once) == 1 else Union(once, label)
        case Pattern(parts, _, _, conditions):
            once_each = replace(expression, parts=tuple(dict.fromkeys(parts)), conditions=tuple(dict.fromkeys(conditions)))
            return plain(once_each)
        case Filter(operand, (), None, None):
            return operand
        case Path(expression=words, bindings=bindings):
            used = {symbol.predicate for symbol in symbols(words)}
            return replace(expression, bindings=tuple(binding for binding in bindings if binding.symbol in used))
        case _:
            return expression
