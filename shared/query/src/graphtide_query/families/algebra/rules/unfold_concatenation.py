"""Concatenation, from left to right: a PATH of two expressions after each other is the PATTERN of two PATHs.

    PATH[R1 R2](...) = PATTERN[x, y](PATH[R1](...) as (x, m), PATH[R2](...) as (m, y))

where neither R1 nor R2 has the empty word, which no PATH yields.
Reference: paper 001, section 5.4, rule (2) for PATH.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.algebra import Path
from graphtide_core.path_expression import Concatenation, is_nullable, make_concatenation

from graphtide_query.families.algebra.path_forms import path_of, row_of
from graphtide_query.families.algebra.regular_laws import simplify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra


def unfold_concatenation(expression: Algebra) -> Iterator[Algebra]:
    """Yield the PATTERN of a PATH's two sides, for each place between parts.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> [write_text(each) for each in unfold_concatenation(read("PATH[:a :b+](a, b)"))]
    ['PATTERN[x0, x2](a as (x0, x1), PATH[:b+](b) as (x1, x2))']
    """
    if not isinstance(expression, Path):
        return
    found = simplify(expression.expression)
    if not isinstance(found, Concatenation):
        return
    operands = {binding.symbol: binding.operand for binding in expression.bindings}
    for place in range(1, len(found.parts)):
        left, right = make_concatenation(found.parts[:place]), make_concatenation(found.parts[place:])
        if not is_nullable(left) and not is_nullable(right):
            sides = (path_of(left, operands, expression.source), path_of(right, operands, None, expression.target))
            yield row_of(sides, expression.label)
