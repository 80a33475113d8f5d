"""Concatenation inside a PATH, from left to right: steps after each other are one step along their PATTERN, which is kept.

    PATH[(a b c)+](a, b, c) = PATH[(a d)+](a, d = PATTERN[x, y](b as (x, m), c as (m, y)))

where none of the steps may be left out. With all of them that is the loop-caching of Yakovets and others; with some, the
plans P2 and P3 of section 7.4.
Reference: paper 001, section 5.4, rule (2) for PATH, under a closure; section 7.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.algebra import Path
from graphtide_core.path_expression import Concatenation, is_nullable, make_concatenation, write_expression

from graphtide_query.families.algebra.path_forms import Alphabet, path_of, row_of
from graphtide_query.families.algebra.rules.inside import replacements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra
    from graphtide_core.path_expression import PathExpression


def cache_concatenation(expression: Algebra) -> Iterator[Algebra]:
    """Yield the PATH with one step along a PATTERN in place of steps after each other, for all that stand together.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> for each in cache_concatenation(read("PATH[(:a :b :c)+](a, b, c)")):
    ...     print(write_text(each))
    PATH[(:":a :b" :c)+](PATTERN[x0, x2](a as (x0, x1), b as (x1, x2)) = ":a :b", c)
    PATH[:":a :b :c"+](PATTERN[x0, x3](a as (x0, x1), b as (x1, x2), c as (x2, x3)) = ":a :b :c")
    PATH[(:a :":b :c")+](a, PATTERN[x0, x2](b as (x0, x1), c as (x1, x2)) = ":b :c")
    """
    if not isinstance(expression, Path):
        return
    alphabet = Alphabet()
    own = alphabet.read(expression)
    known = dict(alphabet.operands)

    def cached(each: PathExpression) -> Iterator[PathExpression]:
        if not isinstance(each, Concatenation):
            return
        for start in range(len(each.parts)):
            for stop in range(start + 2, len(each.parts) + 1):
                row = each.parts[start:stop]
                if any(map(is_nullable, row)):
                    break
                step = alphabet.symbol(
                    row_of([path_of(part, known) for part in row], write_expression(make_concatenation(row)))
                )
                yield make_concatenation((*each.parts[:start], step, *each.parts[stop:]))

    for walked in replacements(own, cached):
        if walked != own and len(alphabet.operands):
            found = path_of(walked, alphabet.operands, expression.source, expression.target)
            if isinstance(found, Path):
                yield found
