"""Path expressions with one part replaced: how rules look inside of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.path_expression import operands

from graphtide_query.families.algebra.path_forms import rebuild

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from graphtide_core.path_expression import PathExpression


def replacements(
    expression: PathExpression, replaced: Callable[[PathExpression], Iterator[PathExpression]]
) -> Iterator[PathExpression]:
    """Yield the expression with one part replaced, for each part and each replacement of it; the whole is the first part."""
    yield from replaced(expression)
    parts = operands(expression)
    for place, part in enumerate(parts):
        for each in replacements(part, replaced):
            yield rebuild(expression, (*parts[:place], each, *parts[place + 1 :]))
