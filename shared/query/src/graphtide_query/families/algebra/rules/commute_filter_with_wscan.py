"""WSCAN commutes with FILTER: what is asked of the ends of tuples may be asked of edges before they get their validity.

    FILTER[p](FILTER[q](WSCAN(S))) = FILTER[q AND p'](WSCAN(S)),  p' reads the edge where p reads ends

An edge and its tuple have the same ends, so that what the window holds is less. FILTERs of anything else are one, too.
Reference: paper 001, section 5.4, rule (1) for WSCAN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.algebra import Filter

from graphtide_query.families.algebra.ends import filter_ends

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra


def commute_filter_with_wscan(expression: Algebra) -> Iterator[Algebra]:
    """Yield one FILTER for a FILTER of a FILTER: over a WSCAN, of its edges.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> [write_text(each) for each in commute_filter_with_wscan(read('FILTER[source.id <> "v"](FILTER[e.n = 1](a))'))]
    ['FILTER[e.n = 1 AND e.src <> "v"](a)']
    """
    if isinstance(expression, Filter) and isinstance(expression.operand, Filter):
        yield filter_ends(expression.operand, expression.conditions)
