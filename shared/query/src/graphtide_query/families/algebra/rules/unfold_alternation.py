"""Alternation, from left to right. A PATH of options is the UNION of a PATH for each; and one that has a part or not, of both.

    PATH[R1 | R2](...) = UNION(PATH[R1](...), PATH[R2](...))
    PATH[R1 R2? R3](...) = UNION(PATH[R1 R2 R3](...), PATH[R1 R3](...))

Reference: paper 001, section 5.4, rule (1) for PATH, which prints `a | b` without its bar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.algebra import Path, Union
from graphtide_core.path_expression import Alternation, Concatenation, is_nullable, make_concatenation, write_expression

from graphtide_query.families.algebra.path_forms import path_of
from graphtide_query.families.algebra.regular_laws import never_empty, simplify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra
    from graphtide_core.path_expression import PathExpression


def unfold_alternation(expression: Algebra) -> Iterator[Algebra]:
    """Yield UNIONs of a PATH: of its options, or with and without a part that may be left out.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> [write_text(each) for each in unfold_alternation(read("PATH[:a :b*](a, b)"))]
    ['UNION(PATH[:a :b+](a, b), a)']
    """
    if not isinstance(expression, Path):
        return
    operands = {binding.symbol: binding.operand for binding in expression.bindings}
    for options in _options(simplify(expression.expression)):
        parts = tuple(path_of(each, operands, expression.source, expression.target) for each in options)
        yield Union(parts, write_expression(expression.expression))


def _options(expression: PathExpression) -> Iterator[tuple[PathExpression, ...]]:
    match expression:
        case Alternation(options):
            yield options
        case Concatenation(parts):
            for place, part in enumerate(parts):
                if is_nullable(part):
                    before, after = parts[:place], parts[place + 1 :]
                    yield make_concatenation((*before, never_empty(part), *after)), make_concatenation((*before, *after))
        case _:
            pass
