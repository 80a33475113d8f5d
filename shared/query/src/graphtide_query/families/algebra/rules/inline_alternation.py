"""Alternation inside a PATH: a step along a UNION is a step along one of its operands.

    PATH[u+](u = UNION(a, b)) = PATH[(a | b)+](a, b)

Reference: paper 001, section 5.4, rule (1) for PATH, under a closure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.algebra import Path, Union
from graphtide_core.path_expression import make_alternation

from graphtide_query.families.algebra.path_forms import Alphabet, path_of, substitute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra


def inline_alternation(expression: Algebra) -> Iterator[Algebra]:
    """Yield the PATH with options in place of each step along a UNION.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> [write_text(each) for each in inline_alternation(read("PATH[:u+](UNION(a, b) = u)"))]
    ['PATH[(:a | :b)+](a, b)']
    """
    if not isinstance(expression, Path):
        return
    for binding in expression.bindings:
        if isinstance(binding.operand, Union):
            alphabet = Alphabet()
            own = alphabet.read(expression)
            options = make_alternation(map(alphabet.symbol, binding.operand.operands))
            walked = substitute(own, alphabet.symbol(binding.operand).predicate, options)
            yield path_of(walked, alphabet.operands, expression.source, expression.target)
