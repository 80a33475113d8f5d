"""Identifiers: one distinct type a meaning, so that a vertex is never passed where an edge is meant."""

from typing import NewType

VertexId = NewType("VertexId", str)
"""A data vertex, as the source names it (an address, an account)."""

EdgeId = NewType("EdgeId", str)
"""A record of a stream: the source's `id`, else the record's 0-based ordinal; two of one text may be two (see `Edge.made`)."""

PatternName = NewType("PatternName", str)
"""The name a user gave a pattern; unique in a deployment."""

StreamName = NewType("StreamName", str)
"""A named stream of edges or events."""

MatchId = NewType("MatchId", str)
"""Identity of a match: see `graphtide_core.match.match_id`."""
