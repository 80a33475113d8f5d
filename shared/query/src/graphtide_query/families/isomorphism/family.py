"""Subgraph isomorphism: each match is a subgraph that has the pattern's shape, reported when its last edge arrives."""

from __future__ import annotations

from typing import Final

from graphtide_query.families.isomorphism.filtering import FILTERING
from graphtide_query.families.isomorphism.re_search import RE_SEARCH
from graphtide_query.families.isomorphism.sj_tree import SJ_TREE
from graphtide_query.families.isomorphism.timing import TIMING
from graphtide_query.families.subgraphs import SubgraphFamily

ISOMORPHISM: Final = SubgraphFamily(
    "isomorphism",
    "patterns under isomorphism",
    engines=(TIMING, SJ_TREE, RE_SEARCH, FILTERING),
    # Searches share cached estimates, so their order decides what each finds within its work budget.
    auto=(SJ_TREE, RE_SEARCH, TIMING, FILTERING),
    services={
        "timing": "matcher_timing",
        "re-search": "matcher_timing",
        "filtering": "matcher_timing",
        "sj-tree": "matcher_sjtree",
    },
)
