"""Features that a stream can have, over any names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.predicate import Aggregation, Literal
from graphtide_core.record_expression import FieldPath, RecordExpression
from graphtide_core.stream_features import Feature
from graphtide_core.time import Duration
from hypothesis import strategies as st

from graphtide_testing.strategies.expressions import operators

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

_FUNCTIONS: Final = [each for each in Aggregation if each is not Aggregation.FIRST]
_COMPARED: Final = (Aggregation.COUNT, Aggregation.SUM)
_CONSTANTS: Final = st.integers(-3, 3) | st.sampled_from([0.5, "p", "", True, False, None, "a"])


def conditions(names: Sequence[str]) -> SearchStrategy[RecordExpression]:
    """Conditions over these names."""
    leaves = st.builds(Literal, _CONSTANTS) | st.sampled_from(names).map(lambda name: FieldPath((name,)))
    return st.recursive(leaves, lambda part: operators(part, _CONSTANTS, st.sampled_from(["", "p", "a"])), max_leaves=4)


@st.composite
def stream_features(
    draw: DrawFn, names: Sequence[str], taken: Collection[str] = (), lengths: Sequence[int] = (1, 2, 3, 10)
) -> tuple[Feature, ...]:
    """Some features over attributes and fields, with windows of these many ticks; `taken` are names that they cannot have."""
    count = draw(st.integers(0, 4))
    found: list[Feature] = []
    for number in range(count):
        function = draw(st.sampled_from(_FUNCTIONS))
        of = draw(st.sampled_from(names))
        is_of_records = function is Aggregation.COUNT and draw(st.booleans())
        is_distinct = function is Aggregation.COUNT and not is_of_records and draw(st.booleans())
        over = draw(st.sampled_from(lengths))
        longer = [each for each in lengths if each > over]
        is_compared = function in _COMPARED and not is_distinct and bool(longer) and draw(st.booleans())
        found.append(
            Feature(
                f"feature {number}",
                function,
                Duration(over),
                None if is_of_records else of,
                is_distinct,
                tuple(draw(st.lists(st.sampled_from(names), max_size=2, unique=True))),
                Duration(draw(st.sampled_from(longer))) if is_compared else None,
                draw(st.booleans()),
                draw(st.none() | conditions(names)),
            )
        )
    return tuple(each for each in found if each.name not in taken)
