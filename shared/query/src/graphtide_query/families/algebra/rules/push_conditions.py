"""Conditions of a PATTERN that one of its parts decides are a FILTER of that part's operand.

    PATTERN(X as (x, y), Y as (y, z) where p(x, y)) = PATTERN(FILTER[p(source, target)](X) as (x, y), Y as (y, z))

Reference: paper 001, section 5.4: predicate push-down, as PATTERN and FILTER are snapshot-reducible.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.algebra import Pattern, arity
from graphtide_core.predicate import variables
from graphtide_core.regular_rule import Variable

from graphtide_query.families.algebra.ends import SOURCE, TARGET, filter_ends, read_from
from graphtide_query.families.algebra.path_forms import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra


def push_conditions(expression: Algebra) -> Iterator[Algebra]:
    """Yield the PATTERN with a condition in one of its parts, for each condition and part that decides it.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> pattern = read('PATTERN[x, z](a as (x, y), PATH[:b+](b) as (y, z) where z.id <> "v")')
    >>> [write_text(each) for each in push_conditions(pattern)]
    ['PATTERN[x, z](a as (x, y), FILTER[target.id <> "v"](PATH[:b+](b)) as (y, z))']
    """
    if not isinstance(expression, Pattern):
        return
    for condition in expression.conditions:
        asked = variables(condition)
        for place, part in enumerate(expression.parts):
            ends = {end.name: own for end, own in ((part.target, TARGET), (part.source, SOURCE)) if isinstance(end, Variable)}
            if asked and asked <= ends.keys() and arity(part.operand) == 2:
                operand = filter_ends(part.operand, (read_from(condition, ends),))
                parts = (*expression.parts[:place], replace(part, operand=operand), *expression.parts[place + 1 :])
                left = tuple(each for each in expression.conditions if each != condition)
                yield plain(replace(expression, parts=parts, conditions=left))
