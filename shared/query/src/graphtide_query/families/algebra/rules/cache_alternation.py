"""Alternation inside a PATH, from left to right: a step along one of several is a step along their UNION.

    PATH[(a | b)+](a, b) = PATH[u+](u = UNION(a, b))

where no option may be left out.
Reference: paper 001, section 5.4, rule (1) for PATH, under a closure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.algebra import Path, Union
from graphtide_core.path_expression import Alternation, is_nullable, write_expression

from graphtide_query.families.algebra.path_forms import Alphabet, path_of
from graphtide_query.families.algebra.rules.inside import replacements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra
    from graphtide_core.path_expression import PathExpression


def cache_alternation(expression: Algebra) -> Iterator[Algebra]:
    """Yield the PATH with a step along a UNION in place of options, for each alternation inside.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> [write_text(each) for each in cache_alternation(read("PATH[(:a | :b)+](a, b)"))]
    ['PATH[:":a | :b"+](UNION(a, b) = ":a | :b")']
    """
    if not isinstance(expression, Path):
        return
    alphabet = Alphabet()
    own = alphabet.read(expression)
    known = dict(alphabet.operands)

    def cached(each: PathExpression) -> Iterator[PathExpression]:
        if isinstance(each, Alternation) and each != own and not any(map(is_nullable, each.options)):
            yield alphabet.symbol(Union(tuple(path_of(option, known) for option in each.options), write_expression(each)))

    for walked in replacements(own, cached):
        yield path_of(walked, alphabet.operands, expression.source, expression.target)
