"""WSCAN commutes with UNION: the tuples of two scans of one stream are those of the scan that has all edges of both.

    UNION(FILTER[p](WSCAN[w, l](S)), WSCAN[w', l'](S)) = WSCAN[w', l'](S)

where w' is no shorter than w and moves by the same slide, and l' is l or any label. The paper's law unites two streams before
the window. Our scans name one stream and one label or all, so a scan of `a` and `b` alone is not a WSCAN. The law holds where
one of the two streams is a part of the other.
Reference: paper 001, section 5.4, rule (2) for WSCAN.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.algebra import Filter, Union, WScan
from graphtide_core.time import TimeUnit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.algebra import Algebra
    from graphtide_core.time import Duration


def unite_wscans(expression: Algebra) -> Iterator[Algebra]:
    """Yield the UNION without the scans that another one of its scans contains.

    >>> from graphtide_testing.algebra_text import read, write_text
    >>> [write_text(each) for each in unite_wscans(read("UNION(a, FILTER[e.n = 1](a), b)"))]
    ['UNION(a, b)']
    """
    if not isinstance(expression, Union):
        return
    whole = [each for each in expression.operands if isinstance(each, WScan)]
    left = tuple(
        each for each in expression.operands if not any(each != other and _contains(other, _scan(each)) for other in whole)
    )
    if len(left) < len(expression.operands):
        yield left[0] if len(left) == 1 else replace(expression, operands=left)


def _scan(expression: Algebra) -> WScan | None:
    """Return the scan whose tuples an expression filters, if at all."""
    match expression:
        case WScan() as scan:
            return scan
        case Filter(WScan() as scan):
            return scan
        case _:
            return None


def _contains(one: WScan, other: WScan | None) -> bool:
    if other is None or one.label not in (None, other.label):
        return False
    same = (one.window.stream, one.window.slide, one.window.kind) == (
        other.window.stream,
        other.window.slide,
        other.window.kind,
    )
    return same and _is_no_shorter(one.window.length, other.window.length)


def _is_no_shorter(one: Duration, other: Duration) -> bool:
    if one == other:
        return True
    # Ticks compare with ticks alone: how long one is depends on the stream.
    both_named = one.unit is not None and other.unit is not None
    if not both_named and one.unit != other.unit:
        return False
    return one.ticks(TimeUnit.NANOSECOND) >= other.ticks(TimeUnit.NANOSECOND)
