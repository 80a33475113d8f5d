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

from graphtide.client import Client
from graphtide.explaining import explain
from graphtide.explanations import Explanations
from graphtide.matches import MatchList
from graphtide.options import MatchOptions
from graphtide.put_aside import StreamWarning
from graphtide.server_errors import (
    EdgesRejectedError,
    NotFoundError,
    RefusedError,
    RefusedPatternError,
    ServerError,
    UnavailableError,
)
from graphtide.session import Session, match
from graphtide.streaming import Matches

__all__ = [
    "Client",
    "Completeness",
    "Concurrency",
    "DeadLetter",
    "Duration",
    "Edge",
    "EdgesRejectedError",
    "Explanations",
    "GraphtideError",
    "InvalidPatternError",
    "LimitExceededError",
    "Limits",
    "MatchKind",
    "MatchList",
    "MatchOptions",
    "Matches",
    "NotFoundError",
    "Operation",
    "RefusedError",
    "RefusedPatternError",
    "ServerError",
    "Session",
    "Storage",
    "StreamWarning",
    "SubgraphMatch",
    "TimeUnit",
    "UnavailableError",
    "UnreadableStreamError",
    "explain",
    "match",
    "parse",
    "print_pattern",
]
