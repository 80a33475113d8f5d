"""graphtide in one process: find patterns in streams of graph edges the moment they complete.

import graphtide

for found in graphtide.match("PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON payments WINDOW 1h", edges):
    print(found.vertices)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from graphtide_core.edge import Edge, Operation
    from graphtide_core.errors import (
        GraphtideError,
        InvalidPatternError,
        LimitExceededError,
        UnreadableStreamError,
    )
    from graphtide_core.match import Completeness, ComponentMatch, Match, MatchKind, OccurrenceMatch, SubgraphMatch
    from graphtide_core.plans import Storage
    from graphtide_core.ports.dead_letter_sink import DeadLetter
    from graphtide_core.time import Duration, TimeUnit
    from graphtide_native.spec import Concurrency, Limits
    from graphtide_query import parse, print_pattern

    from graphtide.client import Client
    from graphtide.explaining import explain
    from graphtide.explanations import Explanations
    from graphtide.inputs import Inputs
    from graphtide.matches import MatchList
    from graphtide.notes import PatternWarning
    from graphtide.options import MatchOptions
    from graphtide.rejections import DuplicateWarning, RejectedRecordsError, StreamWarning
    from graphtide.server_errors import (
        EdgesRejectedError,
        NotFoundError,
        RefusedError,
        RefusedPatternError,
        ServerError,
        UnavailableError,
    )
    from graphtide.session import Session, match
    from graphtide.stream import Stream
    from graphtide.streaming import Matches

    __version__: str

__all__ = [
    "Client",
    "Completeness",
    "ComponentMatch",
    "Concurrency",
    "DeadLetter",
    "DuplicateWarning",
    "Duration",
    "Edge",
    "EdgesRejectedError",
    "Explanations",
    "GraphtideError",
    "Inputs",
    "InvalidPatternError",
    "LimitExceededError",
    "Limits",
    "Match",
    "MatchKind",
    "MatchList",
    "MatchOptions",
    "Matches",
    "NotFoundError",
    "OccurrenceMatch",
    "Operation",
    "PatternWarning",
    "RefusedError",
    "RefusedPatternError",
    "RejectedRecordsError",
    "ServerError",
    "Session",
    "Storage",
    "Stream",
    "StreamWarning",
    "SubgraphMatch",
    "TimeUnit",
    "UnavailableError",
    "UnreadableStreamError",
    "__version__",
    "explain",
    "match",
    "parse",
    "print_pattern",
]

_MODULES: Final = {
    "graphtide.client": ("Client",),
    "graphtide.explaining": ("explain",),
    "graphtide.explanations": ("Explanations",),
    "graphtide.inputs": ("Inputs",),
    "graphtide.matches": ("MatchList",),
    "graphtide.notebook": ("load_ipython_extension",),
    "graphtide.notes": ("PatternWarning",),
    "graphtide.options": ("MatchOptions",),
    "graphtide.rejections": ("DuplicateWarning", "RejectedRecordsError", "StreamWarning"),
    "graphtide.server_errors": (
        "EdgesRejectedError",
        "NotFoundError",
        "RefusedError",
        "RefusedPatternError",
        "ServerError",
        "UnavailableError",
    ),
    "graphtide.session": ("Session", "match"),
    "graphtide.stream": ("Stream",),
    "graphtide.streaming": ("Matches",),
    "graphtide_core.edge": ("Edge", "Operation"),
    "graphtide_core.errors": ("GraphtideError", "InvalidPatternError", "LimitExceededError", "UnreadableStreamError"),
    "graphtide_core.match": ("Completeness", "ComponentMatch", "Match", "MatchKind", "OccurrenceMatch", "SubgraphMatch"),
    "graphtide_core.plans": ("Storage",),
    "graphtide_core.ports.dead_letter_sink": ("DeadLetter",),
    "graphtide_core.time": ("Duration", "TimeUnit"),
    "graphtide_native.spec": ("Concurrency", "Limits"),
    "graphtide_query": ("parse", "print_pattern"),
}
"""Where each name is. It is imported when it is used: the command line, which is in this package, needs few of them."""

_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        # Looking for the metadata takes longer than all else here.
        from importlib.metadata import version  # noqa: PLC0415

        found: Any = version("graphtide")
    elif name in _MODULE_OF:
        found = getattr(import_module(_MODULE_OF[name]), name)
    else:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
