"""Composition of PATHs, from right to left: a closure inside a PATH is a step along a PATH of its own, which is kept.

    PATH[a b+](a, b) = PATH[a p](a, p = PATH[b+](b))        PATH[a b*](a, b) = PATH[a p?](a, p = PATH[b+](b))

Several paths that close the same share it.
Reference: paper 001, Definition 20, and the canonical plans of section 5.2, which keep every closure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.algebra import Path
from graphtide_core.path_expression import Maybe, Plus, Star, is_nullable

from graphtide_query.families.algebra.path_forms import Alphabet, path_of
from graphtide_query.families.algebra.rules.inside import replacements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra
    from graphtide_core.path_expression import PathExpression


def cache_closure(expression: Algebra) -> Iterator[Algebra]:
    """Yield the PATH with a step along a PATH in place of a closure, for each inside.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> [write_text(each) for each in cache_closure(read("PATH[:a :b*](a, b)"))]
    ['PATH[:a :":b+"?](a, PATH[:b+](b) = ":b+")']
    """
    if not isinstance(expression, Path):
        return
    alphabet = Alphabet()
    own = alphabet.read(expression)
    known = dict(alphabet.operands)

    def cached(each: PathExpression) -> Iterator[PathExpression]:
        if isinstance(each, Star | Plus) and each != own:
            step = alphabet.symbol(path_of(Plus(each.operand), known))
            yield Maybe(step) if is_nullable(each) else step

    for walked in replacements(own, cached):
        yield path_of(walked, alphabet.operands, expression.source, expression.target)
