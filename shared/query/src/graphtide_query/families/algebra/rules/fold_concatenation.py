"""Concatenation, from right to left: two parts of a PATTERN that meet where nothing else does are one PATH.

    PATTERN(X as (x, m), Y as (m, y), ...) = PATTERN(PATH[X Y](X, Y) as (x, y), ...)

where m is not a column, and neither another part nor a condition has it. Operands that are PATHs give their words, but for the
empty one. A part that lies the other way round is walked backwards.
Reference: paper 001, section 5.4, rule (2) for PATH, whose join condition `trg1 = src2` this is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from graphtide_core.algebra import Pattern, PatternOperand
from graphtide_core.path_expression import make_concatenation, reversed_expression
from graphtide_core.predicate import attributes
from graphtide_core.regular_rule import Variable

from graphtide_query.families.algebra.path_forms import Alphabet, path_of, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra
    from graphtide_core.regular_rule import Term


def fold_concatenation(expression: Algebra) -> Iterator[Algebra]:
    """Yield a PATTERN with one part less for each two that meet where nothing else does.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> [write_text(each) for each in fold_concatenation(read("PATTERN[x, y](a as (x, m), PATH[:b+](b) as (m, y))"))]
    ['PATH[:a :b+](a, b)']
    >>> [write_text(each) for each in fold_concatenation(read("PATTERN[x, y](a as (x, m), b as (m, y), c as (m, y))"))]
    []
    """
    if not isinstance(expression, Pattern):
        return
    counts = Counter(end for part in expression.parts for end in {part.source, part.target})
    asked = {read.variable for each in expression.conditions for read in attributes(each)}
    for first, second in combinations(expression.parts, 2):
        for shared in {first.source: None, first.target: None}:
            if (
                isinstance(shared, Variable)
                and shared in (second.source, second.target)
                and counts[shared] == 2
                and shared.name not in expression.columns
                and shared.name not in asked
                and first.source != first.target
                and second.source != second.target
            ):
                yield _fold(expression, first, second, shared)


def _fold(pattern: Pattern, first: PatternOperand, second: PatternOperand, shared: Variable) -> Algebra:
    alphabet = Alphabet()
    # To where they meet, and on from there; as the second lies, if both ways are the same.
    if first.source == shared and second.target == shared:
        first, second = second, first
    to, on = alphabet.spell(first.operand), alphabet.spell(second.operand)
    source, target = _other(first, shared), _other(second, shared)
    to = to if first.target == shared else reversed_expression(to)
    on = on if second.source == shared else reversed_expression(on)
    walked = make_concatenation((to, on))
    if pattern.columns == tuple(end.name for end in (target, source) if isinstance(end, Variable)):
        walked, source, target = reversed_expression(walked), target, source
    folded = PatternOperand(path_of(walked, alphabet.operands), source, target)
    parts = [part for part in pattern.parts if part not in (first, second)]
    place = min(pattern.parts.index(first), pattern.parts.index(second))
    return plain(replace(pattern, parts=(*parts[:place], folded, *parts[place:])))


def _other(part: PatternOperand, end: Term) -> Term:
    return part.target if part.source == end else part.source
