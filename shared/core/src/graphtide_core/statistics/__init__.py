"""Statistics of a stream: snapshots, their merging, their forms and their drift."""

from graphtide_core.statistics.drift import Drift, DriftPolicy, drift, should_replan
from graphtide_core.statistics.json_form import SCHEMA, from_json, to_json
from graphtide_core.statistics.kinds import Direction, EdgeEnd, EdgeType, PathType
from graphtide_core.statistics.merging import merge
from graphtide_core.statistics.path_counts import PathCounts
from graphtide_core.statistics.snapshot import DegreeMoments, StatisticsSnapshot, TimeRange

__all__ = [
    "SCHEMA",
    "DegreeMoments",
    "Direction",
    "Drift",
    "DriftPolicy",
    "EdgeEnd",
    "EdgeType",
    "PathCounts",
    "PathType",
    "StatisticsSnapshot",
    "TimeRange",
    "drift",
    "from_json",
    "merge",
    "should_replan",
    "to_json",
]
