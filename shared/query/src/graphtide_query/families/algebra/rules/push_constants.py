"""Constants of a PATTERN go into the operand that has them: a PATH walks from that end alone, a scan keeps those edges alone.

    PATTERN(X as (v, y), ...) = PATTERN(X[source is v] as (v, y), ...)
    PATTERN(X as (x, y), ... where x.id = v) = PATTERN(X[source is v] as (x, y), ... where x.id = v)

Reference: paper 001, section 5.4: predicate push-down; section 6.2.4 for paths from one vertex.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.algebra import Pattern

from graphtide_query.families.algebra.ends import bind_ends, known_end, known_vertices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra


def push_constants(expression: Algebra) -> Iterator[Algebra]:
    """Yield the PATTERN with one operand restricted, for each that has a known end.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> [write_text(each) for each in push_constants(read('PATTERN[y](PATH[:a+](a) as ("v", y))'))]
    ['PATTERN[y](PATH[:a+, from v](a) as ("v", y))']
    """
    if not isinstance(expression, Pattern):
        return
    known = known_vertices(expression.conditions)
    for place, part in enumerate(expression.parts):
        source, target = known_end(part.source, known), known_end(part.target, known)
        if source is None and target is None:
            continue
        operand = bind_ends(part.operand, source, target)
        if operand != part.operand:
            parts = (*expression.parts[:place], replace(part, operand=operand), *expression.parts[place + 1 :])
            yield replace(expression, parts=parts)
