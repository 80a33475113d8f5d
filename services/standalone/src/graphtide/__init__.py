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
from graphtide_core.ports.dead_letter_sink import DeadLetter
from graphtide_core.time import Duration, TimeUnit
from graphtide_native.spec import Concurrency, Limits
from graphtide_query import parse, print_pattern

from graphtide.explaining import explain
from graphtide.explanations import Explanations
from graphtide.matches import MatchList
from graphtide.options import MatchOptions
from graphtide.put_aside import StreamWarning
from graphtide.session import Matches, Session, match

__all__ = [
    "Completeness",
    "Concurrency",
    "DeadLetter",
    "Duration",
    "Edge",
    "Explanations",
    "GraphtideError",
    "InvalidPatternError",
    "LimitExceededError",
    "Limits",
    "MatchKind",
    "MatchList",
    "MatchOptions",
    "Matches",
    "Operation",
    "Session",
    "Storage",
    "StreamWarning",
    "SubgraphMatch",
    "TimeUnit",
    "UnreadableStreamError",
    "explain",
    "match",
    "parse",
    "print_pattern",
]
