"""The transformation rules: each a law of the algebra, as a function from an expression to equivalent ones.

A rule looks at the root of an expression alone, and yields nothing where its law does not apply; what applies rules
everywhere is `rewriting`. All laws hold because operators are snapshot-reducible: at every instant both sides have the same
tuples.

Reference: paper 001, section 5.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_query.families.algebra.rules.cache_alternation import cache_alternation
from graphtide_query.families.algebra.rules.cache_closure import cache_closure
from graphtide_query.families.algebra.rules.cache_concatenation import cache_concatenation
from graphtide_query.families.algebra.rules.commute_filter_with_wscan import commute_filter_with_wscan
from graphtide_query.families.algebra.rules.drop_redundant import drop_redundant
from graphtide_query.families.algebra.rules.flatten_pattern import flatten_pattern
from graphtide_query.families.algebra.rules.fold_alternation import fold_alternation
from graphtide_query.families.algebra.rules.fold_concatenation import fold_concatenation
from graphtide_query.families.algebra.rules.inline_alternation import inline_alternation
from graphtide_query.families.algebra.rules.inline_concatenation import inline_concatenation
from graphtide_query.families.algebra.rules.inline_path import inline_path
from graphtide_query.families.algebra.rules.push_conditions import push_conditions
from graphtide_query.families.algebra.rules.push_constants import push_constants
from graphtide_query.families.algebra.rules.push_filter import push_filter
from graphtide_query.families.algebra.rules.unfold_alternation import unfold_alternation
from graphtide_query.families.algebra.rules.unfold_concatenation import unfold_concatenation
from graphtide_query.families.algebra.rules.unite_wscans import unite_wscans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from graphtide_core.algebra import Algebra

    Rule = Callable[[Algebra], Iterator[Algebra]]
    """From an expression to equivalent ones, by a law that applies at its root."""

RULES: Final[tuple[Rule, ...]] = (
    drop_redundant,
    commute_filter_with_wscan,
    unite_wscans,
    push_filter,
    push_constants,
    push_conditions,
    fold_alternation,
    fold_concatenation,
    inline_concatenation,
    inline_alternation,
    inline_path,
    flatten_pattern,
    unfold_alternation,
    unfold_concatenation,
    cache_concatenation,
    cache_alternation,
    cache_closure,
)
"""All rules, those first that leave less to look at."""


def name_of(rule: Rule) -> str:
    """Return what EXPLAIN calls a rule.

    >>> name_of(fold_alternation)
    'fold alternation'
    """
    return rule.__name__.replace("_", " ")
