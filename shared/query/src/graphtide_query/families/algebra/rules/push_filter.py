"""FILTER goes through UNION, and into a PATH whose end it names.

    FILTER[p](UNION(X, Y)) = UNION(FILTER[p](X), FILTER[p](Y))
    FILTER[source.id = v](PATH[R](...)) = FILTER[source.id = v](PATH[R, from v](...)),  and so for the target

Reference: paper 001, section 5.4: predicate push-down, as UNION and FILTER are snapshot-reducible.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.algebra import Filter, Union

from graphtide_query.families.algebra.ends import bind_ends, filter_ends, known_vertex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra


def push_filter(expression: Algebra) -> Iterator[Algebra]:
    """Yield the UNION of FILTERs; or the FILTER of what is restricted to the vertices that it names.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> [write_text(each) for each in push_filter(read('FILTER[source.id <> "v"](UNION(a, b))'))]
    ['UNION(FILTER[e.src <> "v"](a), FILTER[e.src <> "v"](b))']
    >>> [write_text(each) for each in push_filter(read('FILTER[source.id = "v"](PATH[:a+](a))'))]
    ['PATH[:a+, from v](a)']
    """
    match expression:
        case Filter(Union(operands, label), conditions):
            yield Union(tuple(filter_ends(each, conditions) for each in operands), label)
        case Filter(operand, conditions):
            known = [(each, known_vertex(each)) for each in conditions]
            ends = {end: key for end, key in (pair for _, pair in known if pair is not None) if end in ("source", "target")}
            inner = bind_ends(operand, ends.get("source"), ends.get("target"))
            if inner != operand:
                # What the PATH says now need not be asked again.
                left = tuple(each for each, pair in known if pair is None or ends[pair[0]] != pair[1])
                yield replace(expression, operand=inner, conditions=left) if left else inner
        case _:
            return
