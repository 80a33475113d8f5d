"""Name a streaming graph query, and what records of its results have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.suggestion import show

from graphtide_query.language.annotations import MessageNames
from graphtide_query.language.clauses import require_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.graph_query import Output

    from graphtide_query.language import ast, graph_ast

_BINARY: Final = 2


def query_name(stated: ast.Name | None, view: graph_ast.View | None, usual: ast.Name) -> ast.Name:
    """Return the name: that of QUERY, else that of the view, else the default.

    Raises:
        InvalidPatternError: it is empty, or a view and its query have different names.
    """
    for each in (stated, None if view is None else view.name):
        if each is not None:
            require_text(each)
    if stated is not None and view is not None and stated.text != view.name.text:
        message = f"the query {show(stated.text)} is a view that is named {show(view.name.text)}"
        raise InvalidPatternError(message, view.name.location, hint="a view has the name of its query: leave QUERY out")
    if stated is not None:
        return stated
    return usual if view is None else view.name


def result_names(outputs: Iterable[Output]) -> MessageNames:
    """Return what a message may name: what the records of all outputs have, who call two columns `src` and `dst`."""
    columns = [{"src", "dst"} if len(each.columns) == _BINARY else set(each.columns) for each in outputs]
    return MessageNames(frozenset(set.intersection(*columns)))
