"""Joins are associative: a PATTERN with a PATTERN for a part is one PATTERN of the parts of both.

    PATTERN(PATTERN[x, z](X as (x, y), Y as (y, z)) as (u, w), Z as (w, v)) = PATTERN(X as (u, y'), Y as (y', w), Z as (w, v))

In which order the parts are joined then is for the plan of its operators to say.
Reference: paper 001, section 5.4: join ordering, as PATTERN is a series of equijoins.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.algebra import Pattern, PatternOperand
from graphtide_core.predicate import Attribute
from graphtide_core.regular_rule import Constant, Variable

from graphtide_query.families.algebra.ends import read_from

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra
    from graphtide_core.regular_rule import Term


def flatten_pattern(expression: Algebra) -> Iterator[Algebra]:
    """Yield the PATTERN with the parts of one that it joins in its place.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> nested = read("PATTERN[u, v](PATTERN[x, z](a as (x, y), b as (y, z)) as (u, w), c as (w, v))")
    >>> [write_text(each) for each in flatten_pattern(nested)]
    ['PATTERN[u, v](a as (u, y), b as (y, w), c as (w, v))']
    """
    if not isinstance(expression, Pattern):
        return
    for place, part in enumerate(expression.parts):
        inner = part.operand
        if not isinstance(inner, Pattern) or len(set(inner.columns)) != len(inner.columns):
            continue
        ends: dict[str, Term] = dict(zip(inner.columns, (part.source, part.target), strict=True))
        if inner.conditions and any(isinstance(end, Constant) for end in ends.values()):
            continue
        taken = {end.name for each in expression.parts for end in (each.source, each.target) if isinstance(end, Variable)}
        names = _rename(inner, ends, taken)
        parts = tuple(PatternOperand(each.operand, _end(each.source, names), _end(each.target, names)) for each in inner.parts)
        read = {name: Attribute(end.name, "id") for name, end in names.items() if isinstance(end, Variable)}
        conditions = tuple(read_from(each, read) for each in inner.conditions)
        yield replace(
            expression,
            parts=tuple(dict.fromkeys((*expression.parts[:place], *parts, *expression.parts[place + 1 :]))),
            conditions=tuple(dict.fromkeys((*expression.conditions, *conditions))),
        )


def _rename(inner: Pattern, ends: dict[str, Term], taken: set[str]) -> dict[str, Term]:
    """Return what each variable of a PATTERN is called in another: its columns as there, others by names that are free."""
    names = dict(ends)
    taken = taken | {end.name for end in ends.values() if isinstance(end, Variable)}
    for part in inner.parts:
        for end in (part.source, part.target):
            if isinstance(end, Variable) and end.name not in names:
                name = end.name
                while name in taken:
                    name += "'"
                taken.add(name)
                names[end.name] = Variable(name)
    return names


def _end(end: Term, names: dict[str, Term]) -> Term:
    return names[end.name] if isinstance(end, Variable) else end
