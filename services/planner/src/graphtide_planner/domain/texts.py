"""The one pattern that a registered text holds, and the ordered stream that its plan is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.any_pattern import ordered_stream
from graphtide_core.errors import InvalidPatternError
from graphtide_core.ids import StreamName
from graphtide_query import parse

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_wire.control import PlanRecord


def pattern_in(text: str) -> AnyPattern:
    """Return the one pattern of a text; a process parses it once, so each decision may ask.

    Raises:
        InvalidQueryError: it is wrong, or does not hold one.
    """
    patterns = parse(text)
    if len(patterns) != 1:
        message = f"a registration holds one pattern, this text holds {len(patterns)}"
        raise InvalidPatternError(message)
    return patterns[0]


def stream_of(plan: PlanRecord) -> StreamName:
    """Return the stream that a published plan is for.

    Raises:
        InvalidQueryError: as `pattern_in`.
    """
    return StreamName(plan.stream) if isinstance(plan.stream, str) else ordered_stream(pattern_in(plan.pattern.text))
