"""Streams fed to the native matcher the way a run feeds it: decoded, cleared of duplicates, matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.time import TimeUnit
from graphtide_core.window import longest
from graphtide_native.records import Duplicates
from graphtide_native.stages import Stages

from graphtide_testing.found import keys
from graphtide_testing.records import to_json_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.edge import Edge
    from graphtide_core.match import Match
    from graphtide_core.plans import AnyPlan
    from graphtide_native.spec import Concurrency, Limits

    from graphtide_testing.found import Found


class Feed:
    """A matcher over plans that takes edges and gives what tests compare.

    Attributes:
        matcher: for its counts.
    """

    def __init__(
        self,
        *plans: AnyPlan,
        limits: Limits | None = None,
        concurrency: Concurrency | None = None,
        deletions: bool = True,
        adaptive: bool = False,
        traced: int | None = None,
        asked: Sequence[str] = (),
    ) -> None:
        """Make the stages; by default the stream may delete, nothing is traced, and no edge is asked about."""
        patterns = [plan.pattern for plan in plans]
        stages = Stages.of(patterns, TimeUnit.MILLISECOND)
        self.matcher = stages.matcher(
            plans,
            deletions=deletions,
            adaptive=adaptive,
            traced=traced,
            asked=asked,
            limits=limits,
            concurrency=concurrency,
        )
        self._decoder = stages.json_decoder()
        self._duplicates = Duplicates(*longest(each.extent(stages.unit) for each in patterns))

    def push(self, *edges: Edge) -> list[Found]:
        """Take edges as one batch; return what was reported, sorted; a match reported twice stands there twice."""
        batch = self._duplicates.filter(self._decoder.decode(to_json_lines(edges)))
        return keys(found for matches in self.matcher.push(batch) for found in matches)

    def matches(self, *edges: Edge) -> list[Match]:
        """Take edges as one batch; return what was reported, in its order."""
        batch = self._duplicates.filter(self._decoder.decode(to_json_lines(edges)))
        return [found for matches in self.matcher.push(batch) for found in matches]

    def pass_time(self, watermark: int) -> list[Found]:
        """Take it that no edge before a time follows; return what was reported, sorted."""
        return keys(found for matches in self.matcher.pass_time(watermark) for found in matches)

    def finish(self) -> list[Found]:
        """Take the end of the stream; return what was reported, sorted."""
        return keys(found for matches in self.matcher.finish() for found in matches)

    def lines(self, *edges: Edge) -> bytes:
        """Take edges as one batch; return the match records as they are written."""
        batch = self._duplicates.filter(self._decoder.decode(to_json_lines(edges)))
        return b"".join(matches.to_json_lines() for matches in self.matcher.push(batch))

    def one_by_one(self, edges: Sequence[Edge]) -> list[list[Found]]:
        """Take edges as a batch each; return what each brought about."""
        return [self.push(edge) for edge in edges]
