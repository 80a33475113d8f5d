"""Constants of a PATTERN go into the operand that has them: a PATH walks from that end alone, a scan keeps those edges alone.

    PATTERN(X as (v, y), ...) = PATTERN(X[source is v] as (v, y), ...)
    PATTERN(X as (x, y), ... where x.id = v) = PATTERN(X[source is v] as (x, y), ... where x.id = v)

Reference: paper 001, section 5.4: predicate push-down; section 6.2.4 for paths from one vertex.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.algebra import Pattern
from graphtide_core.regular_rule import Constant, Variable

from graphtide_query.families.algebra.ends import bound, known_vertex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from graphtide_core.algebra import Algebra
    from graphtide_core.ids import VertexId
    from graphtide_core.regular_rule import Term


def push_constants(expression: Algebra) -> Iterator[Algebra]:
    """Yield the PATTERN with one operand restricted, for each that has a known end.

    >>> from graphtide_testing.algebra_text import read, written
    >>> [written(each) for each in push_constants(read('PATTERN[y](PATH[:a+](a) as ("v", y))'))]
    ['PATTERN[y](PATH[:a+, from v](a) as ("v", y))']
    """
    if not isinstance(expression, Pattern):
        return
    known = dict(pair for pair in map(known_vertex, expression.conditions) if pair is not None)
    for place, part in enumerate(expression.parts):
        source, target = _key(part.source, known), _key(part.target, known)
        if source is None and target is None:
            continue
        operand = bound(part.operand, source, target)
        if operand != part.operand:
            parts = (*expression.parts[:place], replace(part, operand=operand), *expression.parts[place + 1 :])
            yield replace(expression, parts=parts)


def _key(end: Term, known: Mapping[str, VertexId]) -> VertexId | None:
    match end:
        case Constant(key):
            return key
        case Variable(name):  # pragma: no branch - mypy knows that no case is left
            return known.get(name)
