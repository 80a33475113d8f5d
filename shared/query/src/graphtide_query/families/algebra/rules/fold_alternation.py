"""Alternation, from right to left: a UNION is a PATH whose expression has its operands for options.

    UNION(PATH[R1](...), PATH[R2](...)) = PATH[R1 | R2](...)

The empty word, which no PATH yields, is in neither side; an operand that is not a PATH is one step.
Reference: paper 001, section 5.4, rule (1) for PATH, which prints `a | b` without its bar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.algebra import Path, Union, arity
from graphtide_core.path_expression import make_alternation

from graphtide_query.families.algebra.path_forms import Alphabet, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra


def fold_alternation(expression: Algebra) -> Iterator[Algebra]:
    """Yield the PATH of a UNION whose operands have two columns.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> [write_text(each) for each in fold_alternation(read("UNION(a, PATH[:a :b+](a, b))"))]
    ['PATH[:a :b*](a, b)']
    """
    if not isinstance(expression, Union) or arity(expression) != 2:
        return
    paths = [each for each in expression.operands if isinstance(each, Path)]
    ends = {(each.source, each.target) for each in paths} or {(None, None)}
    if len(ends) > 1 or (ends != {(None, None)} and len(paths) < len(expression.operands)):
        return
    ((source, target),) = ends
    alphabet = Alphabet()
    options = [alphabet.read(each) if isinstance(each, Path) else alphabet.symbol(each) for each in expression.operands]
    yield path_of(make_alternation(options), alphabet.operands, source, target)
