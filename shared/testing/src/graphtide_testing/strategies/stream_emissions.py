"""EMIT clauses that a stream can have, over any names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.predicate import Aggregation, Compare, Comparison, Literal
from graphtide_core.record_expression import FieldPath
from graphtide_core.stream_definition import RESERVED_FOR_EDGES, RESERVED_FOR_EVENTS
from graphtide_core.stream_emissions import Emission, EmittedEnd, EmittedKey, Summary
from graphtide_core.time import Duration
from hypothesis import strategies as st

from graphtide_testing.strategies.stream_features import conditions

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from graphtide_core.record_expression import RecordExpression
    from hypothesis.strategies import DrawFn

_FUNCTIONS: Final = [each for each in Aggregation if each is not Aggregation.FIRST]


@st.composite
def _summaries(draw: DrawFn, names: Sequence[str]) -> tuple[Summary, ...]:
    found: list[Summary] = []
    for number in range(draw(st.integers(0, 3))):
        function = draw(st.sampled_from(_FUNCTIONS))
        is_of_records = function is Aggregation.COUNT and draw(st.booleans())
        is_distinct = function is Aggregation.COUNT and not is_of_records and draw(st.booleans())
        of = None if is_of_records else draw(st.sampled_from(names))
        found.append(Summary(f"value {number}", function, of, is_distinct))
    return tuple(found)


@st.composite
def stream_emissions(
    draw: DrawFn, names: Sequence[str], stated: Collection[str] = (), lengths: Sequence[int] = (1, 2, 3, 10)
) -> tuple[Emission, ...]:
    """Some clauses over attributes and fields, with windows of these many ticks; `stated` are labels that they cannot have."""
    found: list[Emission] = []
    for number in range(draw(st.integers(0, 3))):
        is_edge = draw(st.booleans())
        end = st.builds(EmittedEnd, st.sampled_from(names), st.sampled_from([None, "host"]))
        ends = (draw(end), draw(end)) if is_edge else None
        keyed = draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
        reserved = RESERVED_FOR_EDGES | RESERVED_FOR_EVENTS
        keys = tuple(EmittedKey(each, f"key {each}" if each in reserved or draw(st.booleans()) else each) for each in keyed)
        sets, has_having = draw(_summaries(names)), draw(st.booleans())
        having: RecordExpression | None = None
        if sets and has_having:
            having = Compare(Comparison.GREATER, FieldPath((sets[0].name,)), Literal(draw(st.integers(-1, 3))))
        every, where = Duration(draw(st.sampled_from(lengths))), draw(st.none() | conditions(names))
        found.append(Emission(f"emitted {number}", every, ends, keys, sets, where, having))
    return tuple(each for each in found if each.label not in stated)
