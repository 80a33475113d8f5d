"""Plans of event patterns: which sub-patterns are matched once for all."""

from graphtide_query.families.events.branches import MOST_BRANCHES, BranchForm, branches
from graphtide_query.families.events.budget import AggregationBudget
from graphtide_query.families.events.builders import BUILDERS, aggregate
from graphtide_query.families.events.units import PatternUnit, units

__all__ = ["BUILDERS", "MOST_BRANCHES", "AggregationBudget", "BranchForm", "PatternUnit", "aggregate", "branches", "units"]
