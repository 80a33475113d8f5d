"""Concatenation inside a PATH: a step along a PATTERN that is a chain is the steps of the chain.

    PATH[d+](d = PATTERN[x, y](a as (x, m), b as (m, y))) = PATH[(a b)+](a, b)

So the canonical plan of Q4 becomes the plan P1 of section 7.4.
Reference: paper 001, section 5.4, rule (2) for PATH, under a closure; section 7.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.algebra import Path, Pattern
from graphtide_core.path_expression import make_concatenation

from graphtide_query.families.algebra.path_forms import Alphabet, chain, path_of, substitute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra


def inline_concatenation(expression: Algebra) -> Iterator[Algebra]:
    """Yield the PATH with a chain in place of each step along one.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> canonical = read("PATH[:d+](PATTERN[x, y](a as (x, m), b as (m, n), c as (n, y)) = d)")
    >>> [write_text(each) for each in inline_concatenation(canonical)]
    ['PATH[(:a :b :c)+](a, b, c)']
    """
    if not isinstance(expression, Path):
        return
    for binding in expression.bindings:
        if not isinstance(binding.operand, Pattern):
            continue
        alphabet = Alphabet()
        own = alphabet.read(expression)
        steps = chain(binding.operand, alphabet)
        if steps is not None:
            walked = substitute(own, alphabet.symbol(binding.operand).predicate, make_concatenation(steps))
            yield path_of(walked, alphabet.operands, expression.source, expression.target)
