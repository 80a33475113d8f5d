"""Composition of PATHs: a step along a PATH is a way that spells one of its words, but for the empty one.

    PATH[a p](a, p = PATH[b*](b)) = PATH[a b+](a, b)

Reference: paper 001, Definition 20: paths are inputs of further queries (requirement R3), and concatenation is associative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.algebra import Path

from graphtide_query.families.algebra.path_forms import Alphabet, path_of, substitute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra


def inline_path(expression: Algebra) -> Iterator[Algebra]:
    """Yield the PATH with the expression of each PATH that it steps along, and whose ends are open, in place of the step.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> [write_text(each) for each in inline_path(read("PATH[:a :p](a, PATH[:b*](b) = p)"))]
    ['PATH[:a :b+](a, b)']
    """
    if not isinstance(expression, Path):
        return
    for binding in expression.bindings:
        operand = binding.operand
        if isinstance(operand, Path) and operand.source is None and operand.target is None:
            alphabet = Alphabet()
            own = alphabet.read(expression)
            walked = substitute(own, alphabet.symbol(operand).predicate, alphabet.spell(operand))
            yield path_of(walked, alphabet.operands, expression.source, expression.target)
