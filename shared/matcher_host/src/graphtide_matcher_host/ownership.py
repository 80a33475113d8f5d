"""Which matches a part of a stream reports, where an edge is in the parts of both its ends.

A match around a vertex is whole in the part that owns the vertex. Other parts may have some of its edges, and find matches of
these. The owner finds them too, and reports them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_core.part_key import BY_VERTEX, part_of
from graphtide_query.families import family_of

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.merged_streams import NamedPart
    from graphtide_native.match_batch import EncodedMatch
    from graphtide_query.locality import Locality


@dataclass(frozen=True, slots=True)
class Ownership:
    """The matches of a pattern that one part reports.

    Attributes:
        pattern: that is local by vertex.
        part: of its stream.
        locality: has the names of the vertices that decide.
    """

    pattern: AnyPattern
    part: NamedPart
    locality: Locality

    @classmethod
    def of(cls, pattern: AnyPattern, part: NamedPart) -> Ownership:
        """Return what a part reports of a pattern."""
        return cls(pattern, part, family_of(pattern).locality(pattern, BY_VERTEX))

    def owns(self, match: EncodedMatch) -> bool:
        """Whether the part reports a match. Complexity: O(size of the record)."""
        if not self.locality.owners:
            return True
        vertex = family_of(self.pattern).owner(self.pattern, self.locality, json.loads(match.json))
        return part_of(vertex, self.part.parts) == self.part.number
