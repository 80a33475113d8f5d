"""graphtide in one process: find patterns in streams of graph edges the moment they complete.

import graphtide

for found in graphtide.match("PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON payments WINDOW 1h", edges):
    print(found.vertices)
"""

from graphtide_core.edge import Edge, Operation
from graphtide_core.errors import (
    GraphtideError,
    InvalidPatternError,
    LimitExceededError,
    UnreadableStreamError,
)
from graphtide_core.match import Completeness, MatchKind, SubgraphMatch
from graphtide_core.plan import Storage
from graphtide_core.time import Duration, TimeUnit
from graphtide_native.spec import Concurrency, Limits
from graphtide_query import parse, print_pattern

from graphtide.explaining import explain
from graphtide.options import MatchOptions
from graphtide.session import Session, match

__all__ = [
    "Completeness",
    "Concurrency",
    "Duration",
    "Edge",
    "GraphtideError",
    "InvalidPatternError",
    "LimitExceededError",
    "Limits",
    "MatchKind",
    "MatchOptions",
    "Operation",
    "Session",
    "Storage",
    "SubgraphMatch",
    "TimeUnit",
    "UnreadableStreamError",
    "explain",
    "match",
    "parse",
    "print_pattern",
]
